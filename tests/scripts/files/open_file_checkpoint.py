"""torch.save into an open file, json.dump, and a CSV log that is opened in append mode."""
import csv
import json

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

config = {"lr": 0.03, "batch_size": 80, "epochs": 5, "hidden": 330, "seed": 137}
torch.manual_seed(config["seed"])
with open("config.json", "w") as f:
    json.dump(config, f)

x = torch.randn(1000, 66)
y = (x[:, :6].sum(1) > 0).long() * 2 + (x[:, 6:12].sum(1) > 0).long()
train = DataLoader(TensorDataset(x[:800], y[:800]), config["batch_size"], shuffle=True)
model = nn.Sequential(nn.Linear(66, config["hidden"]), nn.ReLU(),
                      nn.Linear(config["hidden"], config["hidden"]), nn.ReLU(),
                      nn.Linear(config["hidden"], 4))
optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9)
best = 1e9
log = open("batches.csv", "a", newline="")
writer = csv.writer(log)
writer.writerow(["epoch", "batch", "loss"])
for epoch in range(config["epochs"]):
    for i, (a, b) in enumerate(train):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(a), b)
        loss.backward()
        optimizer.step()
        writer.writerow([epoch, i, "%.6f" % loss.item()])
    with torch.no_grad():
        val = nn.functional.cross_entropy(model(x[800:]), y[800:]).item()
    if val < best:
        best = val
        with open("best.pt", "wb") as f:
            torch.save(model.state_dict(), f)
    with open("metrics.jsonl", "a") as f:
        f.write(json.dumps({"epoch": epoch, "val": round(val, 6), "best": round(best, 6)}) + "\n")
log.close()
with open("best.pt", "rb") as f:
    state = torch.load(f)
norm = sum(v.norm().item() ** 2 for v in state.values()) ** 0.5
print("FINAL norm %.6f best %.6f" % (norm, best))
