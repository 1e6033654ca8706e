"""Adversarial training: the gradient with respect to the inputs is used for the next pass."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(349)
x = torch.randn(800, 90)
y = (x[:, :9].sum(1) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(90, 320), nn.GELU(), nn.Linear(320, 320), nn.GELU(),
                      nn.Linear(320, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
loss_fn = nn.CrossEntropyLoss()


def attack(a, b, epsilon=0.1):
    a = a.clone().requires_grad_()
    gradient = torch.autograd.grad(loss_fn(model(a), b), a)[0]
    return (a + epsilon * gradient / (gradient.norm(dim=1, keepdim=True) + 1e-12)).detach()


for epoch in range(4):
    for a, b in loader:
        hard = attack(a, b)
        optimizer.zero_grad()
        clean_loss = loss_fn(model(a), b)
        hard_loss = loss_fn(model(hard), b)
        (0.5 * clean_loss + 0.5 * hard_loss).backward()
        optimizer.step()
    print("epoch %d clean %.6f attacked %.6f" % (epoch, clean_loss.item(), hard_loss.item()))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f clean %.6f attacked %.6f" % (norm, clean_loss.item(), hard_loss.item()))
