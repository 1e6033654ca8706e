"""Spectral norm, old style and as a parametrization, and an orthogonal layer."""
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).transpose(-1, -2)


torch.manual_seed(6)
first = nn.utils.spectral_norm(nn.Linear(40, 200))
second = parametrizations.spectral_norm(nn.Linear(200, 200))
third = nn.Linear(200, 200)
parametrize.register_parametrization(third, "weight", Symmetric())
old = nn.Sequential(first, nn.Tanh(), nn.Linear(200, 2))
new = nn.Sequential(nn.Linear(40, 200), nn.Tanh(), second, nn.Tanh(), third, nn.Tanh(),
                    nn.Linear(200, 2))
x = torch.randn(500, 40)
y = torch.stack([x[:, :4].sum(1), x[:, 4:8].prod(1)], 1)
optimizer = torch.optim.SGD([*old.parameters(), *new.parameters()], lr=0.02)
for epoch in range(6):
    for xb, yb in zip(x.split(50), y.split(50)):
        loss = (old(xb) - yb).pow(2).mean() + (new(xb) - yb).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    old.eval(), new.eval()
    with torch.no_grad():
        value = (old(x) + new(x)).mean().item()
    old.train(), new.train()
    print(f"epoch {epoch} loss {loss.item():.6f} mean {value:.6f}")
parametrize.remove_parametrizations(second, "weight")
norm = sum(p.norm().item() ** 2 for m in (old, new) for p in m.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f} u {first.weight_u.norm().item():.6f}")
