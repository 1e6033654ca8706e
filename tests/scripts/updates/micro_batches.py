"""Each batch is cut into micro-batches by the script; the loader is made in the epoch loop."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
X = torch.randn(990, 128)
Y = torch.tanh(X @ torch.randn(128, 8) / 8)
dataset = TensorDataset(X, Y)
net = nn.Sequential(nn.Linear(128, 384), nn.Tanh(), nn.Linear(384, 384), nn.Tanh(),
                    nn.Linear(384, 8))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.8)

for epoch in range(3):
    total = 0.0
    for x, y in DataLoader(dataset, batch_size=110, shuffle=True):
        opt.zero_grad()
        for mx, my in zip(x.split(32), y.split(32)):  # The last one is smaller.
            loss = nn.functional.mse_loss(net(mx), my) * len(mx) / len(x)
            loss.backward()
            total += loss.item()
        opt.step()
    print(f"epoch {epoch}: {total / 9:.6f}")

with torch.no_grad():
    final = nn.functional.mse_loss(net(X), Y).item()
print(f"FINAL norm {nn.utils.parameters_to_vector(net.parameters()).norm():.6f} loss {final:.6f}")
