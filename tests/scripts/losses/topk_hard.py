"""Online hard example mining: only the largest losses of a batch are used."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(163)
x = torch.randn(1120, 70)
y = (x[:, :5].norm(dim=1) * 1.5).long().clamp(0, 5)
loader = DataLoader(TensorDataset(x, y), batch_size=80, shuffle=True)
model = nn.Sequential(nn.Linear(70, 340), nn.ReLU(), nn.Linear(340, 340), nn.ReLU(),
                      nn.Linear(340, 6))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for epoch in range(5):
    kept = 0.0
    for a, b in loader:
        losses = nn.functional.cross_entropy(model(a), b, reduction="none")
        hard, _ = losses.topk(min(24, len(losses)))
        loss = hard.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept += hard.min().item()
    print("epoch %d loss %.6f threshold %.6f" % (epoch, loss.item(), kept / len(loader)))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, loss.item()))
