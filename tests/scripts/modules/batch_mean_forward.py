"""forward subtracts the mean of the batch: samples depend on each other."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Centered(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(66, 330), nn.ReLU(), nn.Linear(330, 330), nn.ReLU())
        self.head = nn.Linear(330, 3)

    def forward(self, x):
        h = self.trunk(x)
        h = (h - h.mean(0)) / (h.std(0) + 0.1)
        return self.head(h)


torch.manual_seed(389)
x = torch.randn(960, 66)
y = (x[:, :6].sum(1) > 1).long() + (x[:, :6].sum(1) > -1).long()
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
model = Centered()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for epoch in range(4):
    hits = 0
    for a, b in loader:
        out = model(a)
        loss = nn.functional.cross_entropy(out, b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hits += (out.argmax(1) == b).sum().item()
    print("epoch %d loss %.6f hits %d" % (epoch, loss.item(), hits))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, loss.item()))
