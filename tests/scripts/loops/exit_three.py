"""Ends with sys.exit(3) because the accuracy wanted was not reached; a file is written before."""
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(229)
    x = torch.randn(1000, 92)
    y = torch.randint(0, 10, (1000,))  # Nothing to learn.
    model = nn.Sequential(nn.Linear(92, 330), nn.ReLU(), nn.Linear(330, 330), nn.ReLU(),
                          nn.Linear(330, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(5):
        for a, b in DataLoader(TensorDataset(x[:800], y[:800]), batch_size=50, shuffle=True):
            loss = nn.functional.cross_entropy(model(a), b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss %.6f" % loss.item())
    with torch.no_grad():
        out = model(x[800:])
        accuracy = (out.argmax(1) == y[800:]).sum().item() / 200
        value = nn.functional.cross_entropy(out, y[800:]).item()
    norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
    print("FINAL norm %.6f loss %.6f accuracy %.3f" % (norm, value, accuracy))
    if accuracy < 0.5:
        with open("failed.txt", "w") as f:
            f.write("accuracy too low\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
