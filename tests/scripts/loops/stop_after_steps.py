"""Training ends by itself after a number of steps, in the middle of an epoch."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

MAX_STEPS = 90
torch.manual_seed(83)
x = torch.randn(1500, 77)
y = x.pow(2).mean(1, keepdim=True) + x[:, :1]
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(77, 333), nn.ReLU(), nn.Linear(333, 333), nn.ReLU(),
                      nn.Linear(333, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=8e-4)

step, epoch, done = 0, 0, False
while not done:
    epoch += 1
    for a, b in loader:
        loss = nn.functional.l1_loss(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 15 == 0:
            print("step %d epoch %d loss %.6f" % (step, epoch, loss.item()))
        if step >= MAX_STEPS:
            done = True
            break
with torch.no_grad():
    val = nn.functional.l1_loss(model(x), y).item()
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL steps %d norm %.6f val %.6f" % (step, norm, val))
