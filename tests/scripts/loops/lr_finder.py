"""Finds a learning rate by a sweep, puts everything back, then trains with it."""
import copy

import torch
from torch import nn


class LRFinder:
    def __init__(self, model, optimizer, criterion):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.saved = copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_dict())
        self.history = {"lr": [], "loss": []}

    def range_test(self, loader, start=1e-4, end=1.0, num_iter=25):
        it, best = iter(loader), None
        for i in range(num_iter):
            lr = start * (end / start) ** (i / (num_iter - 1))
            for group in self.optimizer.param_groups:
                group["lr"] = lr
            try:
                x, y = next(it)
            except StopIteration:
                it = iter(loader)
                x, y = next(it)
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            value = loss.item()
            if i:
                value = 0.1 * value + 0.9 * self.history["loss"][-1]
            best = value if best is None else min(best, value)
            self.history["lr"].append(lr)
            self.history["loss"].append(value)
            if value > 3 * best:
                break

    def suggestion(self):
        losses = self.history["loss"]
        slopes = [b - a for a, b in zip(losses, losses[1:])]
        return self.history["lr"][slopes.index(min(slopes))]

    def reset(self):
        self.model.load_state_dict(self.saved[0])
        self.optimizer.load_state_dict(self.saved[1])


torch.manual_seed(2)
x = torch.randn(600, 80)
y = torch.sin(x[:, :10].sum(1, keepdim=True)) + x[:, 10:11]
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 60, shuffle=True)
model = nn.Sequential(nn.Linear(80, 300), nn.GELU(), nn.Linear(300, 300), nn.GELU(),
                      nn.Linear(300, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
finder = LRFinder(model, optimizer, nn.MSELoss())
finder.range_test(loader)
lr = finder.suggestion()
finder.reset()
print(f"tried {len(finder.history['lr'])} suggestion {lr:.6f}")
for group in optimizer.param_groups:
    group["lr"] = min(lr, 0.05)
for epoch in range(5):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.6f}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f}")
