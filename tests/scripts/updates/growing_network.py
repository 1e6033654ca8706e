"""Layers are added and frozen while training: add_param_group, requires_grad, ModuleList.append."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(70, 280)
        self.blocks = nn.ModuleList()
        self.last = nn.Linear(280, 5)

    def grow(self):
        block = nn.Sequential(nn.Linear(280, 280), nn.ReLU())
        nn.init.normal_(block[0].weight, std=0.02)
        self.blocks.append(block)
        return block

    def forward(self, x):
        x = torch.relu(self.first(x))
        for block in self.blocks:
            x = x + block(x)
        return self.last(x)


torch.manual_seed(271)
x = torch.randn(900, 70)
y = (x[:, :5] + x[:, 5:10] * x[:, 10:15]).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=60)
model = Growing()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(6):
    if epoch in (1, 3):
        optimizer.add_param_group({"params": model.grow().parameters(), "lr": 0.02})
    if epoch == 4:
        for p in model.first.parameters():
            p.requires_grad = False
            p.grad = None
    for a, b in loader:
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    count = sum(p.numel() for p in model.parameters() if p.requires_grad)
    print("epoch %d blocks %d trained %d loss %.6f" % (epoch, len(model.blocks), count,
                                                       loss.item()))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f first %.6f loss %.6f" % (norm, model.first.weight.norm().item(),
                                                loss.item()))
