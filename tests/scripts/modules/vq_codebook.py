"""A vector-quantised autoencoder whose codebook follows a running mean in forward."""
import torch
from torch import nn
from torch.nn import functional as F


class VectorQuantizerEMA(nn.Module):
    def __init__(self, codes, dim, decay=0.9):
        super().__init__()
        embed = torch.randn(codes, dim)
        self.register_buffer("embed", embed)
        self.register_buffer("cluster_size", torch.ones(codes))
        self.register_buffer("embed_avg", embed.clone())
        self.decay = decay

    def forward(self, z):
        dist = z.pow(2).sum(1, keepdim=True) - 2 * z @ self.embed.t() + self.embed.pow(2).sum(1)
        index = dist.argmin(1)
        quantize = F.embedding(index, self.embed)
        if self.training:
            onehot = F.one_hot(index, len(self.embed)).to(z.dtype)
            self.cluster_size.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
            self.embed_avg.mul_(self.decay).add_(onehot.t() @ z.detach(), alpha=1 - self.decay)
            self.embed.copy_(self.embed_avg / (self.cluster_size.unsqueeze(1) + 1e-2))
        diff = (quantize.detach() - z).pow(2).mean()
        return z + (quantize - z).detach(), diff, index


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(50, 256), nn.ReLU(), nn.Linear(256, 16))
        self.quantize = VectorQuantizerEMA(32, 16)
        self.dec = nn.Sequential(nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 50))

    def forward(self, x):
        quant, diff, index = self.quantize(self.enc(x))
        return self.dec(quant), diff, index


torch.manual_seed(29)
x = (torch.randn(40, 50)[torch.randint(0, 40, (800,))] + 0.1 * torch.randn(800, 50))
model = VQVAE()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for epoch in range(4):
    used = set()
    for batch in x.split(50):
        out, latent_loss, index = model(batch)
        recon = F.mse_loss(out, batch)
        loss = recon + 0.25 * latent_loss
        model.zero_grad()
        loss.backward()
        optimizer.step()
        used.update(index.tolist())
    print(f"epoch {epoch} recon {recon.item():.5f} latent {latent_loss.item():.5f} "
          f"codes {len(used)}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f}")
