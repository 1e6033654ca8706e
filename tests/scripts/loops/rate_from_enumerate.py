"""The learning rate is set by hand from epoch + i / len(loader)."""
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def adjust_learning_rate(optimizer, progress, epochs, base, warm=1.0):
    if progress < warm:
        lr = base * progress / warm
    else:
        lr = 0.5 * base * (1 + math.cos(math.pi * (progress - warm) / (epochs - warm)))
    for group in optimizer.param_groups:
        group["lr"] = lr
    return lr


def train(epochs=4):
    torch.manual_seed(127)
    x = torch.randn(1000, 90)
    y = (x[:, :9].reshape(-1, 3, 3).sum(2)).argmax(1)
    loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
    model = nn.Sequential(nn.Linear(90, 310), nn.ReLU(), nn.Linear(310, 310), nn.ReLU(),
                          nn.Linear(310, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
    rates = []
    for epoch in range(epochs):
        for i, (a, b) in enumerate(loader):
            rates.append(adjust_learning_rate(optimizer, epoch + i / len(loader), epochs, 0.05))
            loss = nn.functional.cross_entropy(model(a), b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if i % 10 == 0:
                where = f"Epoch: [{epoch}][{i}/{len(loader)}]"
                print(f"{where}\tlr {rates[-1]:.6f}\tLoss {loss.item():.5f}")
    norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
    print(f"FINAL rates {sum(rates):.6f} norm {norm:.6f} loss {loss.item():.6f}")


train()
