"""A list of layers of which forward takes some: by an attribute, by the data, by a coin."""
import numpy as np
import torch
from torch import nn


class Branchy(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 200)
        self.layers = nn.ModuleList([nn.Linear(200, 200) for _ in range(4)])
        self.exits = nn.ModuleList([nn.Linear(200, 3) for _ in range(4)])
        self.active = 1
        self.threshold = 100.0

    def forward(self, x):
        h = torch.tanh(self.stem(x))
        for i in range(self.active):
            h = h + torch.tanh(self.layers[i](h))
            # Skips the rest if the batch as a whole is sure enough.
            if i < self.active - 1 and h.abs().mean() > self.threshold:
                return self.exits[i](h)
        return self.exits[self.active - 1](h)


class LayerDrop(nn.Module):
    def __init__(self, p=0.3):
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(20, 200), nn.ReLU(),
                                                   nn.Linear(200, 20)) for _ in range(3)])
        self.out = nn.Linear(20, 3)
        self.p = p

    def forward(self, x):
        for layer in self.layers:
            if self.training and np.random.rand() < self.p:
                continue
            x = x + layer(x)
        return self.out(x)


np.random.seed(5)
torch.manual_seed(5)
x = torch.randn(720, 20)
y = (x[:, :3] + x[:, 3:6] ** 2).argmax(1)
branchy, dropping = Branchy(), LayerDrop()
optimizer = torch.optim.SGD([*branchy.parameters(), *dropping.parameters()], lr=0.05,
                            momentum=0.5, weight_decay=1e-4)
for epoch in range(6):
    branchy.active = 1 + epoch // 2
    if epoch == 5:
        branchy.threshold = 0.67
    for at in range(0, 720, 72):
        xb, yb = x[at:at + 72], y[at:at + 72]
        loss = nn.functional.cross_entropy(branchy(xb), yb)
        loss = loss + nn.functional.cross_entropy(dropping(xb), yb)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} active {branchy.active} loss {loss.item():.6f}")
norm = sum(p.norm().item() ** 2 for m in (branchy, dropping) for p in m.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f}")
