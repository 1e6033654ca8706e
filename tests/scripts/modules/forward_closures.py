"""Forward functions that are set from outside: lambdas, bound methods, a Lambda layer, partials."""
import functools
import types

import torch
from torch import nn


class Lambda(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *args):
        return self.f(*args)


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(24, 300), nn.Linear(300, 24)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


def residual(self, x):
    return x + self.scale * self.b(torch.tanh(self.a(x)))


def make_forward(module, settings):
    inner = module.forward

    def forward(x):
        return inner(x) * settings["gain"]
    return forward


torch.manual_seed(111)
settings = {"gain": 1.0}
bodies = [Body(), Body(), Body()]
bodies[1].scale = 0.5
bodies[1].forward = types.MethodType(residual, bodies[1])
bodies[2].forward = make_forward(bodies[2], settings)
shift = torch.zeros(24)
model = nn.Sequential(*bodies, Lambda(lambda h: h - shift), Lambda(
    functools.partial(torch.clamp, min=-4.0, max=4.0)), nn.Linear(24, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.03)
x = torch.randn(640, 24)
y = x[:, :2] * x[:, 2:4]
for epoch in range(6):
    settings["gain"] = 1.0 + 0.1 * epoch
    bodies[1].scale = 0.5 if epoch < 3 else 1.0
    if epoch == 4:
        shift += 0.1
    if epoch == 5:
        bodies[0].forward = types.MethodType(
            lambda self, x: self.b(torch.sigmoid(self.a(x))), bodies[0])
    for xb, yb in zip(x.split(64), y.split(64)):
        loss = nn.functional.smooth_l1_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.6f}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f}")
