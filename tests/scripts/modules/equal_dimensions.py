"""Batch, sequence length and width are all equal, and so is a constant matrix given as input."""
import torch
from torch import nn

N = 40
torch.manual_seed(397)


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Linear(N, N)
        self.channels = nn.Sequential(nn.Linear(N, 4 * N), nn.GELU(), nn.Linear(4 * N, N))
        self.out = nn.Linear(N, N)

    def forward(self, x, basis):
        x = x + self.tokens(x.transpose(1, 2)).transpose(1, 2)
        x = x + self.channels(x @ basis)
        return self.out(x.mean(1))


basis = torch.linalg.qr(torch.randn(N, N))[0]
data = torch.randn(12 * N, N, N)
labels = data.mean((1,)).argmax(1)
model = Mixer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    for k in range(12):
        x, y = data[k * N:(k + 1) * N], labels[k * N:(k + 1) * N]
        loss = nn.functional.cross_entropy(model(x, basis), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch %d loss %.6f" % (epoch, loss.item()))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, loss.item()))
