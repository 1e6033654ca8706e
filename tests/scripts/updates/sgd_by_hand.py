"""No optimizer at all: parameters are updated by hand under no_grad."""
import torch
import torch.nn as nn

torch.manual_seed(149)
x = torch.randn(900, 95)
y = (x[:, :1] * x[:, 1:2]).sigmoid()
model = nn.Sequential(nn.Linear(95, 350), nn.ReLU(), nn.Linear(350, 350), nn.ReLU(),
                      nn.Linear(350, 1),
                      nn.Sigmoid())
loss_fn = nn.BCELoss()
velocity = [torch.zeros_like(p) for p in model.parameters()]
learning_rate, momentum = 0.3, 0.7

for t in range(80):
    rows = torch.arange(t * 75, t * 75 + 75) % 900
    loss = loss_fn(model(x[rows]), y[rows])
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for v, param in zip(velocity, model.parameters()):
            v.mul_(momentum).add_(param.grad)
            param -= learning_rate * v
    if t % 20 == 19:
        print(t, "%.6f" % loss.item())
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, loss.item()))
