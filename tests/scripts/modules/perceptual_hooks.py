"""A perceptual loss: features of a frozen network are collected by forward hooks."""
import torch
from torch import nn
from torch.nn import functional as F


class FeatureLoss(nn.Module):
    def __init__(self, net, layers):
        super().__init__()
        self.net, self.found = net, {}
        for name in layers:
            net[name].register_forward_hook(functools_hook(self.found, name))
        for p in net.parameters():
            p.requires_grad = False

    def features(self, x):
        self.net(x)
        return dict(self.found)

    def forward(self, output, target):
        wanted = {k: v.detach() for k, v in self.features(target).items()}
        got = self.features(output)
        return sum(F.l1_loss(got[k], wanted[k]) for k in wanted)


def functools_hook(store, name):
    def hook(module, args, output):
        store[name] = output
    return hook


torch.manual_seed(23)
vgg = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.Tanh(), nn.Conv2d(16, 16, 3, padding=1),
                    nn.Tanh())
perceptual = FeatureLoss(vgg, (1, 3))
decoder = nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.Tanh(), nn.Conv2d(24, 24, 3, padding=1),
                        nn.Tanh(), nn.Conv2d(24, 1, 3, padding=1))
statistics = []
handle = decoder[1].register_forward_hook(
    lambda m, i, o: statistics.append(o.detach().std().item()))
clean = torch.tanh(3 * torch.randn(320, 1, 1, 12)).expand(-1, -1, 12, -1).contiguous()
noisy = clean + 0.3 * torch.randn(320, 1, 12, 12)
optimizer = torch.optim.Adam(decoder.parameters(), lr=1e-3, eps=1e-4)
for epoch in range(5):
    for a, b in zip(noisy.split(32), clean.split(32)):
        output = decoder(a)
        loss = F.mse_loss(output, b) + 0.1 * perceptual(output, b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch == 1:
        handle.remove()
    print(f"epoch {epoch} loss {loss.item():.6f} seen {len(statistics)}")
norm = sum(p.norm().item() ** 2 for p in decoder.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f} spread {sum(statistics):.5f}")
