"""An endless generator around the loader, and a training loop over range(steps)."""
import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def cycle(loader):
    while True:
        for batch in loader:
            yield batch


torch.manual_seed(97)
features = torch.randn(640, 100)
targets = features[:, :20].sum(1, keepdim=True).sign()
batches = cycle(DataLoader(TensorDataset(features, targets), batch_size=60, shuffle=True))
net = nn.Sequential(nn.Linear(100, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU(),
                    nn.Linear(300, 1))
optim = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.5)
seen = 0
for step, (x, y) in enumerate(itertools.islice(batches, 80)):
    loss = nn.functional.soft_margin_loss(net(x), y)
    optim.zero_grad()
    loss.backward()
    optim.step()
    seen += len(x)
    if step % 20 == 19:
        print(step, seen, f"{loss.item():.6f}")
norm = sum(p.norm().item() ** 2 for p in net.parameters()) ** 0.5
print(f"FINAL seen {seen} norm {norm:.6f} loss {loss.item():.6f}")
