"""Gradients are edited by hand, clamped and noised, between backward() and step()."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(19)
inputs = torch.randn(1280, 96)
targets = (inputs[:, :10].abs().sum(1) * 0.8).long().clamp(max=9)
loader = DataLoader(TensorDataset(inputs, targets), batch_size=80)
model = nn.Sequential(nn.Linear(96, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU(),
                      nn.Linear(300, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
noise = torch.Generator().manual_seed(1)

touched = 0
for epoch in range(5):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.CrossEntropyLoss()(model(x), y)
        loss.backward()
        for p in model.parameters():
            if p.grad is not None:
                touched += (p.grad.abs() > 0.01).sum().item()
                p.grad.data.clamp_(-0.01, 0.01)
                p.grad += 1e-5 * torch.randn(p.shape, generator=noise)
        optimizer.step()
    print("epoch", epoch, "loss %.6f" % loss.item())

norm = torch.stack([p.norm() for p in model.parameters()]).norm().item()
print("FINAL norm %.6f loss %.6f clamped %.4f" % (norm, loss.item(), touched / 1e6))
