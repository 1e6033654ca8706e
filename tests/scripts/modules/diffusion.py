"""Denoising diffusion on small images: noise and times drawn in the loop, sampling at the end."""
import copy
import math

import torch
from torch import nn
import torch.nn.functional as F


def timestep_embedding(t, dim):
    freqs = torch.exp(-math.log(1000) * torch.arange(dim // 2, dtype=torch.get_default_dtype())
                      / (dim // 2))
    args = t[:, None].to(freqs.dtype) * freqs[None]
    return torch.cat([args.cos(), args.sin()], -1)


class ResBlock(nn.Module):
    def __init__(self, c, emb):
        super().__init__()
        self.norm = nn.GroupNorm(4, c)
        self.conv1 = nn.Conv2d(c, c, 3, padding=1)
        self.emb = nn.Linear(emb, 2 * c)
        self.conv2 = nn.Conv2d(c, c, 3, padding=1)

    def forward(self, x, emb):
        scale, shift = self.emb(emb)[:, :, None, None].chunk(2, 1)
        h = self.conv1(F.silu(self.norm(x))) * (1 + scale) + shift
        return x + self.conv2(F.silu(h))


class UNet(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 64))
        self.inp = nn.Conv2d(1, c, 3, padding=1)
        self.down = ResBlock(c, 64)
        self.mid = ResBlock(c, 64)
        self.up = ResBlock(2 * c, 64)
        self.out = nn.Conv2d(2 * c, 1, 3, padding=1)

    def forward(self, x, t):
        emb = self.time(timestep_embedding(t, 32))
        h1 = self.down(self.inp(x), emb)
        h2 = self.mid(F.avg_pool2d(h1, 2), emb)
        h = torch.cat([h1, F.interpolate(h2, scale_factor=2)], 1)
        return self.out(self.up(h, emb))


class Diffusion:
    def __init__(self, steps=20):
        self.steps = steps
        betas = torch.linspace(1e-3, 0.2, steps)
        self.alphas, self.betas = 1 - betas, betas
        self.bar = torch.cumprod(self.alphas, 0)

    def loss(self, model, x0):
        t = torch.randint(0, self.steps, (x0.shape[0],))
        eps = torch.randn_like(x0)
        a = self.bar[t][:, None, None, None]
        return F.mse_loss(model(a.sqrt() * x0 + (1 - a).sqrt() * eps, t), eps)

    @torch.no_grad()
    def sample(self, model, n):
        x = torch.randn(n, 1, 8, 8)
        for i in reversed(range(self.steps)):
            t = torch.full((n,), i)
            eps = model(x, t)
            x = (x - self.betas[i] / (1 - self.bar[i]).sqrt() * eps) / self.alphas[i].sqrt()
            if i > 0:
                x = x + self.betas[i].sqrt() * torch.randn_like(x)
        return x


torch.manual_seed(31)
data = torch.sign(torch.randn(512, 1, 8, 1)).expand(-1, -1, -1, 8).contiguous()
model, process = UNet(), Diffusion()
ema = copy.deepcopy(model)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, eps=1e-4)
step = 0
while step < 50:
    for batch in torch.split(data[torch.randperm(512)], 64):
        loss = process.loss(model, batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for p, q in zip(model.parameters(), ema.parameters()):
                q.lerp_(p, 0.05)
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.6f}")
        if step == 50:
            break
sample = process.sample(ema.eval(), 16)
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f} sample {sample.std().item():.5f}")
