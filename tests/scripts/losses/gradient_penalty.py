"""A critic with gradient penalty: gradients of gradients by create_graph=True."""
import torch
from torch import autograd, nn

torch.manual_seed(241)
critic = nn.Sequential(nn.Linear(40, 256), nn.Softplus(), nn.Linear(256, 256), nn.Softplus(),
                       nn.Linear(256, 1))
generator = nn.Sequential(nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 40))
opt_c = torch.optim.Adam(critic.parameters(), lr=3e-4, betas=(0.0, 0.9))
opt_g = torch.optim.Adam(generator.parameters(), lr=3e-4, betas=(0.0, 0.9))
mixing = torch.randn(8, 40)


def real_batch(n):
    return torch.tanh(torch.randn(n, 8) @ mixing)


def gradient_penalty(real, fake):
    alpha = torch.rand(len(real), 1)
    middle = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(middle)
    gradient, = autograd.grad(score, middle, torch.ones_like(score), create_graph=True)
    return ((gradient.norm(2, dim=1) - 1) ** 2).mean()


for step in range(40):
    real, fake = real_batch(80), generator(torch.randn(80, 16)).detach()
    penalty = gradient_penalty(real, fake)
    loss_c = critic(fake).mean() - critic(real).mean() + 10.0 * penalty
    opt_c.zero_grad()
    loss_c.backward()
    opt_c.step()
    if step % 4 == 3:
        loss_g = -critic(generator(torch.randn(80, 16))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
    if step % 8 == 7:
        print("step %d critic %.6f penalty %.6f generator %.6f"
              % (step, loss_c.item(), penalty.item(), loss_g.item()))
norm_c = sum(p.norm().item() ** 2 for p in critic.parameters()) ** 0.5
norm_g = sum(p.norm().item() ** 2 for p in generator.parameters()) ** 0.5
print("FINAL norm_c %.6f norm_g %.6f penalty %.6f" % (norm_c, norm_g, penalty.item()))
