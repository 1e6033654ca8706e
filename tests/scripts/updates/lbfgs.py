"""L-BFGS: the optimizer calls the closure as often as it likes."""
import torch
from torch import nn

torch.manual_seed(101)
x = torch.linspace(-3, 3, 400).unsqueeze(1)
x = torch.cat([x, x ** 2 / 9, torch.sin(3 * x)], 1)
y = torch.sin(2 * x[:, :1]) * x[:, 1:2]
model = nn.Sequential(nn.Linear(3, 120), nn.Tanh(), nn.Linear(120, 120), nn.Tanh(),
                      nn.Linear(120, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=6, history_size=8)
calls = 0


def closure():
    global calls
    calls += 1
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    return loss


for i in range(15):
    loss = optimizer.step(closure)
    if i % 3 == 2:
        print("iteration %d: loss before %.6f, %d calls" % (i, loss.item(), calls))
with torch.no_grad():
    final = ((model(x) - y) ** 2).mean().item()
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL calls %d norm %.6f loss %.6f" % (calls, norm, final))
