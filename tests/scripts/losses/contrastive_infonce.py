"""InfoNCE over the whole batch: every other sample is a negative, so the loss cannot be split."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(53)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(90, 350), nn.ReLU(), nn.Linear(350, 350), nn.ReLU(),
                                    nn.Linear(350, 32))

    def forward(self, x):
        return F.normalize(self.layers(x), dim=1)


def info_nce(a, b, temperature=0.2):
    logits = a @ b.t() / temperature
    target = torch.arange(len(a))
    return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))


base = torch.randn(1000, 30) @ torch.randn(30, 90) / 5
view_noise = torch.Generator().manual_seed(2)
loader = DataLoader(TensorDataset(base), batch_size=72, drop_last=True)
encoder = Encoder()
optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-4)
for epoch in range(5):
    total = 0.0
    for (x,) in loader:
        one = encoder(x + 0.8 * torch.randn(x.shape, generator=view_noise))
        two = encoder(x + 0.8 * torch.randn(x.shape, generator=view_noise))
        loss = info_nce(one, two)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch %d loss %.5f" % (epoch, total / len(loader)))
with torch.no_grad():
    final = info_nce(encoder(base[:256]), encoder(base[:256] + 0.5)).item()
norm = sum(p.norm().item() ** 2 for p in encoder.parameters()) ** 0.5
print("FINAL norm %.6f loss on 256 %.6f" % (norm, final))
