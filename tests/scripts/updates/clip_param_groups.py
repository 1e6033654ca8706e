"""Several parameter groups and clip_grad_norm_ with a keyword argument; the norm is logged."""
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader, TensorDataset


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(120, 360), nn.GELU(), nn.LayerNorm(360),
                                  nn.Linear(360, 240))
        self.head = nn.Linear(240, 6)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


def groups(model):
    decay = [p for p in model.body.parameters() if p.dim() > 1]
    rest = [p for p in model.body.parameters() if p.dim() == 1]
    return [
        {"params": decay, "weight_decay": 0.1},
        {"params": rest},
        {"params": model.head.parameters(), "lr": 3e-3},
    ]


torch.manual_seed(17)
x = torch.randn(1600, 120)
y = (x[:, :30] @ torch.randn(30, 6)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=100, shuffle=False)
model = Model()
optimizer = torch.optim.AdamW(groups(model), lr=1e-3, weight_decay=0.0)
norms = []
for epoch in range(5):
    for batch, label in loader:
        loss = nn.functional.cross_entropy(model(batch), label, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        norms.append(clip_grad_norm_(model.parameters(), max_norm=0.5).item())
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.5f} gradient norm {sum(norms[-16:]) / 16:.5f}")
norm = sum(p.detach().pow(2).sum().item() for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f} largest gradient {max(norms):.6f}")
