"""Layers that learn their sizes at the first call, and a head that is made in forward."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.LazyConv2d(24, 3)
        self.fc = nn.LazyLinear(128)
        self.head = None

    def forward(self, x):
        h = torch.relu(self.conv(x)).flatten(1)
        h = torch.tanh(self.fc(h))
        if self.head is None:
            self.head = nn.Linear(h.shape[1], 5)
        return self.head(h)


torch.manual_seed(53)
x = torch.randn(480, 2, 10, 10)
y = (x.mean((1, 2, 3)) * 40).long() % 5
model = Net()
model(x[:2])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-4)
for epoch in range(5):
    correct = 0
    for xb, yb in zip(x.split(48), y.split(48)):
        output = model(xb)
        loss = nn.functional.cross_entropy(output, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (output.argmax(1) == yb).sum().item()
    print(f"epoch {epoch} loss {loss.item():.6f} correct {correct}")
torch.save(model.state_dict(), "whole.pt")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f}")
