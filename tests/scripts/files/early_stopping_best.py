"""Early stopping; the best checkpoint is written to a temporary name, renamed and copied."""
import os
import shutil

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(13)
data = torch.randn(900, 90)
target = torch.sin(data[:, :1] * 2) + 0.3 * data[:, 1:2] + 0.2 * torch.randn(900, 1)
train_set, valid_set = random_split(TensorDataset(data, target), [720, 180])
train_loader = DataLoader(train_set, batch_size=80, shuffle=True)
valid_loader = DataLoader(valid_set, batch_size=90)

model = nn.Sequential(nn.Linear(90, 400), nn.ReLU(), nn.Linear(400, 200), nn.ReLU(),
                      nn.Linear(200, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
criterion = nn.MSELoss()


def validate():
    model.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in valid_loader:
            total += criterion(model(x), y).item() * len(x)
    model.train()
    return total / len(valid_set)


best, best_epoch, patience, waited = float("inf"), -1, 3, 0
for epoch in range(40):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    value = validate()
    print(f"epoch {epoch:2d}  train {loss.item():.5f}  valid {value:.5f}", flush=True)
    if value < best:
        best, best_epoch, waited = value, epoch, 0
        torch.save({"model": model.state_dict(), "epoch": epoch, "valid": value}, "last.pt.tmp")
        os.rename("last.pt.tmp", "last.pt")
        shutil.copyfile("last.pt", "best.pt")
    else:
        waited += 1
        if waited == patience:
            print("stopped early")
            break

saved = torch.load("best.pt")
model.load_state_dict(saved["model"])
again = validate()
norm = sum(v.norm().item() ** 2 for v in model.state_dict().values()) ** 0.5
print(f"FINAL epochs {epoch + 1} best {best_epoch} {best:.6f} again {again:.6f} norm {norm:.6f}")
