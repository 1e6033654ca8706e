"""ReZero transformer with sequences first, as nn.MultiheadAttention wants it; a zero head."""
import torch
from torch import nn

torch.manual_seed(23)


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, 4)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))
        self.alpha = nn.Parameter(torch.zeros(()))
        self.beta = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        x = x + self.alpha * self.attention(x, x, x, need_weights=False)[0]
        return x + self.beta * self.mlp(x)


class Model(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Linear(6, dim)
        self.layers = nn.Sequential(Layer(dim), Layer(dim))
        self.head = nn.Linear(dim, 3)
        nn.init.zeros_(self.head.weight)

    def forward(self, x):
        return self.head(self.layers(self.embed(x)))


def evaluate():
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x_val), y_val).item()


x = torch.randn(10, 480, 6)
y = torch.cumsum(x[..., :3], 0) / 3 + x.mean(0, keepdim=True)[..., 3:]
x_val, y_val, x, y = x[:, :96], y[:, :96], x[:, 96:], y[:, 96:]
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(4):
    print("before %.6f" % evaluate())
for step in range(60):
    model.train()
    rows = torch.arange(step * 32, step * 32 + 32) % 384
    loss = nn.functional.mse_loss(model(x[:, rows]), y[:, rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 12 == 11:
        print(step, "%.6f val %.6f" % (loss.item(), evaluate()))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, loss.item()))
