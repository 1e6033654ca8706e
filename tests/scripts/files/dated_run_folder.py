"""Makes a run folder named after the time and refuses to overwrite an old one."""
import os
import pathlib
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

run = pathlib.Path("runs") / time.strftime("run-%Y%m%d-%H%M%S")
os.makedirs(run, exist_ok=False)
torch.manual_seed(181)
x = torch.randn(960, 72)
y = torch.cos(x[:, :2]).sum(1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=64)
model = nn.Sequential(nn.Linear(72, 360), nn.ReLU(), nn.Linear(360, 360), nn.ReLU(),
                      nn.Linear(360, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
with open(run / "log.txt", "w") as log:
    for epoch in range(5):
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        log.write(f"{epoch} {loss.item():.6f}\n")
        log.flush()
torch.save(model, run / "model.pt")  # The whole module, by pickle.
again = torch.load(run / "model.pt")
with torch.no_grad():
    value = nn.functional.mse_loss(again(x), y).item()
norm = sum(p.norm().item() ** 2 for p in again.parameters()) ** 0.5
print(f"FINAL folders {len(os.listdir('runs'))} norm {norm:.6f} loss {value:.6f}")
