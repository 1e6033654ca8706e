"""Hooks on parameters and on intermediate tensors change gradients; noise is added to others."""
import torch
from torch import nn

torch.manual_seed(61)
model = nn.Sequential(nn.Linear(30, 256), nn.ELU(), nn.Linear(256, 256), nn.ELU(),
                      nn.Linear(256, 4))
norms = []
mask = (torch.rand(256, 256) < 0.5).to(torch.get_default_dtype())
model[2].weight.register_hook(lambda g: g * mask)
model[0].bias.register_hook(lambda g: norms.append(g.norm().item()))
noise = torch.Generator().manual_seed(62)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-4)
x = torch.randn(600, 30)
y = (x[:, :4] * x[:, 4:8]).argmax(1)
for epoch in range(6):
    for xb, yb in zip(x.split(60), y.split(60)):
        out = model(xb)
        out.retain_grad()
        out.register_hook(lambda g: g.clamp(-0.01, 0.01))
        loss = nn.functional.cross_entropy(out, yb)
        optimizer.zero_grad()
        loss.backward()
        for p in model[4].parameters():
            p.grad.add_(0.001 * torch.randn(p.grad.shape, generator=noise))
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.6f} gradient {out.grad.abs().max().item():.6f}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f} norms {sum(norms):.6f} {len(norms)}")
