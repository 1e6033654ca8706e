"""An own optimizer class (sign of the momentum); gradients are set to None by hand."""
import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader, TensorDataset


class SignMomentum(Optimizer):
    def __init__(self, params, lr=1e-3, beta=0.9):
        super().__init__(params, dict(lr=lr, beta=beta))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["m"] = torch.zeros_like(p)
                state["m"].mul_(group["beta"]).add_(p.grad, alpha=1 - group["beta"])
                p.add_(state["m"] / (state["m"].abs() + 1e-3), alpha=-group["lr"])


torch.manual_seed(167)
x = torch.randn(1000, 88)
y = (x[:, :8] ** 2).sum(1, keepdim=True) / 8
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(88, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU(),
                      nn.Linear(300, 1))
optimizer = SignMomentum(model.parameters(), lr=2e-3)
for epoch in range(5):
    for a, b in loader:
        for p in model.parameters():
            p.grad = None
        loss = nn.functional.huber_loss(model(a), b)
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss %.6f" % loss.item())
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, loss.item()))
