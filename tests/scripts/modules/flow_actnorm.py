"""A normalising flow: layers that initialise themselves from the first batch, log-determinants."""
import math

import torch
from torch import nn


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.loc, self.log_scale = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))
        self.initialized = False

    def forward(self, x):
        if not self.initialized:
            self.loc.data = -x.mean(0)
            self.log_scale.data = -torch.log(x.std(0) + 1e-6)
            self.initialized = True
        return (x + self.loc) * self.log_scale.exp(), self.log_scale.sum()


class Coupling(nn.Module):
    def __init__(self, dim, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(dim // 2, 200), nn.ReLU(), nn.Linear(200, dim))
        self.net[-1].weight.data.mul_(0.1)

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, 1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s.sum(1)


class Flow(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.layers = nn.ModuleList()
        for i in range(3):
            self.layers += [ActNorm(dim), Coupling(dim, i % 2 == 1)]
        self.prior = torch.distributions.Normal(0.0, 1.0)

    def forward(self, x):
        log_det = x.new_zeros(len(x))
        for layer in self.layers:
            x, ld = layer(x)
            log_det = log_det + ld
        return x, self.prior.log_prob(x).sum(1) + log_det


torch.manual_seed(37)
angle = 2 * math.pi * torch.rand(900, 3)
x = torch.cat([angle.cos(), angle.sin()], 1) * 2 + 0.1 * torch.randn(900, 6) + 1
flow = Flow()
optimizer = torch.optim.SGD(flow.parameters(), lr=0.01)
for epoch in range(5):
    for batch in x.split(75):
        z, log_prob = flow(batch)
        loss = -log_prob.mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
        optimizer.step()
    print(f"epoch {epoch} nll {loss.item():.6f} std {z.std().item():.6f}")
norm = sum(p.norm().item() ** 2 for p in flow.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f}")
