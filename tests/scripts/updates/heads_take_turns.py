"""Multi-task: one trunk, three heads that take turns; the others have no gradient (None)."""
import torch
from torch import nn


class MultiTask(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(78, 340), nn.ReLU(), nn.Linear(340, 200), nn.ReLU())
        self.heads = nn.ModuleDict({name: nn.Linear(200, size) for name, size in tasks.items()})

    def forward(self, x, task):
        return self.heads[task](self.trunk(x))


torch.manual_seed(197)
tasks = {"sign": 2, "octant": 8, "value": 1}
x = torch.randn(1000, 78)
bits = (x[:, :3] > 0).long()
targets = {"sign": bits[:, 0], "octant": bits[:, 0] + 2 * bits[:, 1] + 4 * bits[:, 2],
           "value": x[:, 3:4] * x[:, 4:5]}
model = MultiTask(tasks)
# Decay and momentum move a head with a zero gradient, but not one without any.
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, weight_decay=0.02)
names = list(tasks)
losses = {}
for step in range(90):
    task = names[step // 5 % 3]
    rows = torch.arange(step * 70, step * 70 + 70) % 1000
    out = model(x[rows], task)
    if task == "value":
        loss = nn.functional.mse_loss(out, targets[task][rows])
    else:
        loss = nn.functional.cross_entropy(out, targets[task][rows])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    losses[task] = loss.item()
    if step % 15 == 14:
        print(step, " ".join(f"{k} {v:.5f}" for k, v in losses.items()))
norms = [h.weight.norm().item() for h in model.heads.values()]
print("FINAL heads %.6f %.6f %.6f trunk %.6f loss %.6f"
      % (*norms, model.trunk[0].weight.norm().item(), loss.item()))
