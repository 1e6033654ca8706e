"""Resumes from its own checkpoint when there is one; meant to be run twice in one folder."""
import argparse
import os
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--stop-after", type=int, default=None, help="end early, as if interrupted")
args = parser.parse_args()

random.seed(1)
np.random.seed(1)
torch.manual_seed(109)
x = torch.randn(800, 70)
y = (x[:, :7] @ torch.randn(7, 3)).argmax(1)
generator = torch.Generator().manual_seed(4)
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True, generator=generator)
model = nn.Sequential(nn.Linear(70, 350), nn.ReLU(), nn.Linear(350, 350), nn.ReLU(),
                      nn.Linear(350, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.8)

start = 0
if os.path.exists("checkpoint.pt"):
    saved = torch.load("checkpoint.pt")
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    scheduler.load_state_dict(saved["scheduler"])
    generator.set_state(saved["generator"])
    start = saved["epoch"] + 1
    print(f"resumed at epoch {start}")

for epoch in range(start, args.epochs):
    total = 0.0
    for a, b in loader:
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    print(f"epoch {epoch} loss {total / len(loader):.6f} lr {scheduler.get_last_lr()[0]:.3e}")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(), "generator": generator.get_state(),
                "epoch": epoch}, "checkpoint.pt")
    if args.stop_after is not None and epoch + 1 >= args.stop_after:
        break
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL epochs {epoch + 1} norm {norm:.6f} loss {total / len(loader):.6f}")
