"""Ghost batch normalisation: statistics of 16 samples each."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)


class GhostBatchNorm(nn.BatchNorm1d):
    def __init__(self, features, virtual=16, **kwargs):
        super().__init__(features, **kwargs)
        self.virtual = virtual

    def forward(self, x):
        if not self.training:
            return super().forward(x)
        return torch.cat([super(GhostBatchNorm, self).forward(c) for c in x.split(self.virtual)])


x = torch.randn(960, 40) * torch.linspace(0.3, 3, 960)[:, None]
y = (x[:, :3].sum(1) > 0).long() + (x[:, 3] > 1).long()
model = nn.Sequential(nn.Linear(40, 160), GhostBatchNorm(160), nn.ReLU(),
                      nn.Linear(160, 80), GhostBatchNorm(80), nn.ReLU(), nn.Linear(80, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for epoch in range(5):
    model.train()
    for i in range(0, 960, 64):
        loss = F.cross_entropy(model(x[i:i + 64]), y[i:i + 64])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch %d %.5f" % (epoch, loss.item()))
model.eval()
with torch.no_grad():
    val = F.cross_entropy(model(x), y).item()
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f mean %.6f" % (norm, val, model[1].running_mean.norm().item()))
