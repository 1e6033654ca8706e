"""A GAN: two modules, two optimizers, the discriminator called on real and on fake samples."""
import torch
import torch.nn as nn

torch.manual_seed(11)
latent, batch, steps = 32, 96, 70


def ring(n):
    angle = 2 * torch.pi * torch.rand(n, 1)
    return torch.cat([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(latent, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                  nn.Linear(256, 2))
D = nn.Sequential(nn.Linear(2, 256), nn.LeakyReLU(0.2), nn.Linear(256, 256), nn.LeakyReLU(0.2),
                  nn.Linear(256, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(batch, 1), torch.zeros(batch, 1)

for step in range(1, steps + 1):
    # Discriminator: real up, fake down.
    real = ring(batch)
    fake = G(torch.randn(batch, latent)).detach()
    loss_d = bce(D(real), ones) + bce(D(fake), zeros)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    # Generator: fake up.
    loss_g = bce(D(G(torch.randn(batch, latent))), ones)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 10 == 0:
        print("step %d  D %.5f  G %.5f" % (step, loss_d.item(), loss_g.item()))

with torch.no_grad():
    radius = G(torch.randn(512, latent)).norm(dim=1).mean().item()
norm_g = torch.cat([p.detach().flatten() for p in G.parameters()]).norm().item()
norm_d = torch.cat([p.detach().flatten() for p in D.parameters()]).norm().item()
print("FINAL radius %.6f norm_g %.6f norm_d %.6f loss_d %.6f" % (radius, norm_g, norm_d,
                                                                 loss_d.item()))
