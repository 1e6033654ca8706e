"""Solves a differential equation: second derivatives of the network by its inputs in the loss."""
import torch
import torch.nn as nn


class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(),
                                 nn.Linear(128, 1))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def grad(u, x):
    return torch.autograd.grad(u, x, grad_outputs=torch.ones_like(u), create_graph=True)[0]


torch.manual_seed(4)
model = PINN()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, eps=1e-4)
x0 = torch.linspace(-1, 1, 60).view(-1, 1)
u0 = -torch.sin(torch.pi * x0)
for it in range(40):
    x = (2 * torch.rand(200, 1) - 1).requires_grad_(True)
    t = torch.rand(200, 1, requires_grad=True)
    u = model(x, t)
    u_t, u_x = grad(u, t), grad(u, x)
    u_xx = grad(u_x, x)
    residual = u_t + u * u_x - 0.05 * u_xx
    start = model(x0, torch.zeros_like(x0)) - u0
    edge = model(torch.ones(20, 1), torch.rand(20, 1))
    loss = residual.pow(2).mean() + start.pow(2).mean() + edge.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 10 == 9:
        print(f"it {it} loss {loss.item():.6f} residual {residual.abs().max().item():.5f}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f}")
