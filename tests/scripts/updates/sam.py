"""Sharpness-aware minimization: two forward and backward passes for each update."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        defaults = dict(rho=rho, **kwargs)
        super(SAM, self).__init__(params, defaults)
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        grad_norm = self._grad_norm()
        for group in self.param_groups:
            scale = group["rho"] / (grad_norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]  # Back to "w" from "w + e(w)".
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def _grad_norm(self):
        return torch.norm(torch.stack([p.grad.norm(p=2) for group in self.param_groups
                                       for p in group["params"] if p.grad is not None]), p=2)


torch.manual_seed(193)
x = torch.randn(780, 82)
y = (x[:, :6].sin().sum(1) > 0).long() + (x[:, 6] > 1).long()
loader = DataLoader(TensorDataset(x, y), batch_size=65, shuffle=True)
model = nn.Sequential(nn.Linear(82, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU(),
                      nn.Linear(300, 3))
criterion = nn.CrossEntropyLoss()
optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.03, momentum=0.9)
for epoch in range(4):
    for a, b in loader:
        loss = criterion(model(a), b)
        loss.backward()
        optimizer.first_step(zero_grad=True)
        criterion(model(a), b).backward()
        optimizer.second_step(zero_grad=True)
    print(f"epoch {epoch} loss {loss.item():.6f}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f}")
