"""Activation checkpointing (torch.utils.checkpoint) inside forward."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Deep(nn.Module):
    def __init__(self, width=160, depth=3):
        super().__init__()
        self.inp = nn.Linear(81, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.out = nn.Linear(width, 4)

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            x = checkpoint(block, x) if self.training else block(x)
        return self.out(x)


torch.manual_seed(293)
x = torch.randn(1000, 81)
y = (x[:, :4] * x[:, 4:8].sign()).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=80, shuffle=True)
model = Deep()
optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4)
for epoch in range(4):
    model.train()
    for a, b in loader:
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val = nn.functional.cross_entropy(model(x), y).item()
    print("epoch %d loss %.6f all %.6f" % (epoch, loss.item(), val))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, val))
