"""A rare class drawn more often by WeightedRandomSampler."""
import collections

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(67)
labels = (torch.rand(1500) < 0.08).long()
features = torch.randn(1500, 88) + 0.35 * labels.unsqueeze(1)
counts = torch.bincount(labels)
weights = (1.0 / counts)[labels]
sampler = WeightedRandomSampler(weights, num_samples=1100, replacement=True)
loader = DataLoader(TensorDataset(features, labels), batch_size=64, sampler=sampler)

model = nn.Sequential(nn.Linear(88, 350), nn.ReLU(), nn.Linear(350, 350), nn.ReLU(),
                      nn.Linear(350, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
drawn = collections.Counter()
for epoch in range(4):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        drawn.update(y.tolist())
    print("epoch", epoch, "loss %.6f" % loss.item(), "drawn", dict(sorted(drawn.items())))
with torch.no_grad():
    hit = model(features).argmax(1)
recall = ((hit == 1) & (labels == 1)).sum().item() / counts[1].item()
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f recall %.4f" % (norm, loss.item(), recall))
