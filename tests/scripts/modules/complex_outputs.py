"""A spectral model: complex weights, complex outputs, a loss in the frequency domain."""
import torch
from torch import nn

torch.manual_seed(31)


class SpectralFilter(nn.Module):
    def __init__(self, size=64, hidden=96):
        super().__init__()
        self.size = size
        self.filter = nn.Parameter(torch.ones(size // 2 + 1, dtype=torch.cfloat)
                                   if torch.get_default_dtype() == torch.float32 else
                                   torch.ones(size // 2 + 1, dtype=torch.cdouble))
        self.net = nn.Sequential(nn.Linear(size, hidden), nn.Tanh(), nn.Linear(hidden, size))

    def forward(self, x):
        spectrum = torch.fft.rfft(x + self.net(x))
        return spectrum * self.filter


t = torch.arange(64) / 64.0
phase = torch.rand(512, 1) * 6.28
clean = torch.sin(2 * 3.14159 * 3 * t + phase) + 0.5 * torch.cos(2 * 3.14159 * 7 * t - phase)
noisy = clean + 0.5 * torch.randn(512, 64)
model = SpectralFilter()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for step in range(60):
    rows = torch.arange(step * 64, step * 64 + 64) % 512
    out = model(noisy[rows])
    target = torch.fft.rfft(clean[rows])
    loss = (out - target).abs().pow(2).mean() / 64
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 12 == 11:
        print(step, "%.6f" % loss.item())
print("FINAL filter %.6f net %.6f loss %.6f" % (model.filter.abs().norm().item(),
      model.net[0].weight.norm().item(), loss.item()))
