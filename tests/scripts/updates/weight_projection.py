"""Parameters re-bound after each step, p.data = ..., and weights tied again by assignment."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(269)
x = torch.rand(900, 68)
y = (x[:, :7].sum(1, keepdim=True) + x[:, 7:8].exp()) / 4
loader = DataLoader(TensorDataset(x, y), batch_size=75, shuffle=True)
model = nn.Sequential(nn.Linear(68, 340), nn.ReLU(), nn.Linear(340, 340), nn.ReLU(),
                      nn.Linear(340, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
projected = 0
for epoch in range(6):
    for a, b in loader:
        loss = nn.functional.mse_loss(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for layer in (model[0], model[4]):
            weight = layer.weight
            projected += (weight.data.abs() > 0.1).sum().item()
            weight.data = weight.data.clamp(-0.1, 0.1)
    print("epoch %d loss %.6f largest %.6f" % (epoch, loss.item(),
                                               model[0].weight.abs().max().item()))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, loss.item()))
