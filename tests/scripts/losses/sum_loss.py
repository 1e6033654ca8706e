"""Losses that are sums: reduction='sum', divided by a constant, plus a penalty on the weights."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH = 90
torch.manual_seed(61)
x = torch.randn(1000, 60)
y = torch.stack([x[:, ::2].sum(1), (x[:, 1::2] ** 2).mean(1)], 1)
loader = DataLoader(TensorDataset(x, y), batch_size=BATCH)  # The last batch has ten samples.
model = nn.Sequential(nn.Linear(60, 400), nn.Softplus(), nn.Linear(400, 400), nn.Softplus(),
                      nn.Linear(400, 2))
optimizer = torch.optim.Adagrad(model.parameters(), lr=5e-3)
mse = nn.MSELoss(reduction="sum")
for epoch in range(6):
    epoch_loss = 0
    for a, b in loader:
        data_loss = mse(model(a), b) / BATCH
        penalty = sum(p.pow(2).sum() for n, p in model.named_parameters() if "weight" in n)
        loss = data_loss + 1e-4 * penalty
        model.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += data_loss.item()
    print(f"{epoch}: {epoch_loss:.6f}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {epoch_loss:.6f}")
