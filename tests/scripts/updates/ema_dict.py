"""A moving average of the weights in a plain dict of tensors, swapped in for validation."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EMA:
    def __init__(self, model, decay):
        self.model, self.decay = model, decay
        self.shadow = {n: p.data.clone() for n, p in model.named_parameters()}
        self.backup = {}

    def update(self):
        for n, p in self.model.named_parameters():
            self.shadow[n] = (1.0 - self.decay) * p.data + self.decay * self.shadow[n]

    def apply_shadow(self):
        for n, p in self.model.named_parameters():
            self.backup[n] = p.data
            p.data = self.shadow[n]

    def restore(self):
        for n, p in self.model.named_parameters():
            p.data = self.backup[n]
        self.backup = {}


torch.manual_seed(131)
x = torch.randn(1100, 85)
y = torch.sin(x[:, :3]).sum(1, keepdim=True)
loader = DataLoader(TensorDataset(x[:900], y[:900]), batch_size=60, shuffle=True)
model = nn.Sequential(nn.Linear(85, 340), nn.ReLU(), nn.Linear(340, 340), nn.ReLU(),
                      nn.Linear(340, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=7e-4)
ema = EMA(model, 0.9)


def validate():
    with torch.no_grad():
        return nn.functional.mse_loss(model(x[900:]), y[900:]).item()


for epoch in range(5):
    for a, b in loader:
        loss = nn.functional.mse_loss(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update()
    raw = validate()
    ema.apply_shadow()
    smooth = validate()
    ema.restore()
    print(f"epoch {epoch} raw {raw:.6f} ema {smooth:.6f}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
shadow = sum(t.norm().item() ** 2 for t in ema.shadow.values()) ** 0.5
print(f"FINAL norm {norm:.6f} shadow {shadow:.6f} raw {raw:.6f} ema {smooth:.6f}")
