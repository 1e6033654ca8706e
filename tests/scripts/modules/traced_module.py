"""A model that is traced before training, and a scripted block inside an ordinary one."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.a = nn.Linear(width, width)
        self.b = nn.Linear(width, width)

    def forward(self, x):
        if x.sum() > 1e9:
            return x
        return x + self.b(torch.relu(self.a(x)))


class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3)
        self.fc = nn.Linear(16 * 100, 64)

    def forward(self, x):
        h = torch.relu(self.conv(x))
        return torch.tanh(self.fc(h.view(h.shape[0], -1)))


torch.manual_seed(13)
traced = torch.jit.trace(Flat(), torch.randn(4, 1, 12, 12))
head = nn.Sequential(torch.jit.script(Block(64)), nn.Linear(64, 3))
x = torch.randn(480, 1, 12, 12)
y = (x[:, 0, :, :4].mean((1, 2)) * 30).long() % 3
optimizer = torch.optim.SGD([*traced.parameters(), *head.parameters()], lr=0.03, momentum=0.8)
for epoch in range(5):
    for at in torch.randperm(480).split(48):
        loss = nn.functional.cross_entropy(head(traced(x[at])), y[at])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.6f}")
traced.save("traced.ts")
norm = sum(p.norm().item() ** 2 for m in (traced, head) for p in m.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f}")
