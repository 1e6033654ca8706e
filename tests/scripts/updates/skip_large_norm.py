"""The step is skipped when the gradient's norm is too large, computed by hand."""
import torch
from torch import nn

torch.manual_seed(23)


class Regressor(nn.Module):
    def __init__(self, n_in=110, hidden=350):
        super().__init__()
        self.a = nn.Linear(n_in, hidden)
        self.b = nn.Linear(hidden, hidden)
        self.c = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.c(torch.relu(self.b(torch.relu(self.a(x))))).squeeze(-1)


X = torch.randn(1400, 110)
X[::211] *= 6.0  # Outliers: the batches that have them are skipped.
Y = X[:, 0] - 2 * X[:, 1] + X[:, 2] * X[:, 3]
loader = torch.utils.data.DataLoader(list(zip(X, Y)), batch_size=70)
model = Regressor()
optimizer = torch.optim.SGD(model.parameters(), lr=2e-3, momentum=0.9)
skipped = taken = 0
for epoch in range(5):
    for x, y in loader:
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        total = 0.0
        for p in model.parameters():
            total += p.grad.pow(2).sum().item()
        if total ** 0.5 > 40.0:
            skipped += 1
            continue
        optimizer.step()
        taken += 1
    print(f"epoch {epoch}: loss {loss.item():.5f} norm {total ** 0.5:.5f} skipped {skipped}")
clean = X.abs().max(1)[0] < 6
with torch.no_grad():
    mse = ((model(X[clean]) - Y[clean]) ** 2).mean().item()
norm = sum(p.detach().square().sum() for p in model.parameters()).sqrt().item()
print(f"FINAL taken {taken} skipped {skipped} norm {norm:.6f} mse {mse:.6f}")
