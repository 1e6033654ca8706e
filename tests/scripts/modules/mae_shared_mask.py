"""Masked autoencoder; one random mask for the whole batch, which forward returns."""
import torch
from torch import nn

torch.manual_seed(0)


class MAE(nn.Module):
    def __init__(self, patches=16, dim=32, width=96):
        super().__init__()
        self.embed = nn.Linear(dim, width)
        self.mask_token = nn.Parameter(torch.zeros(width))
        self.position = nn.Parameter(0.02 * torch.randn(patches, width))
        self.mix = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(),
                                 nn.Linear(2 * width, width))
        self.out = nn.Linear(width * patches, patches * dim)
        self.patches, self.dim = patches, dim

    def forward(self, x):
        mask = torch.zeros(self.patches)
        mask[torch.rand(self.patches).argsort()[:12]] = 1.0
        m = mask[None, :, None]
        h = self.embed(x) * (1 - m) + self.mask_token * m + self.position
        h = h + self.mix(h)
        return self.out(h.flatten(1)).view_as(x), mask


model = MAE()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
basis = torch.randn(4, 16 * 32)
x = (torch.randn(512, 4) @ basis).view(512, 16, 32)
history = []
for step in range(80):
    batch = x[torch.randperm(512)[:64]]
    out, mask = model(batch)
    error = ((out - batch) ** 2).mean(2)
    loss = (error * mask).sum() / (mask.sum() * len(batch))
    visible = (error * (1 - mask)).sum() / ((1 - mask).sum() * len(batch))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append((loss.item(), visible.item()))
last = [sum(h[k] for h in history[-20:]) / 20 for k in (0, 1)]
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f visible %.6f" % (norm, *last))
