"""One trunk, heads in a ModuleDict, losses weighed by learned uncertainties outside the model."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class Scenes(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(14)
        self.x = torch.randn(n, 3, 16, 16, generator=g)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i]
        return {"image": x, "targets": {"depth": x.mean(0, keepdim=True) ** 2,
                                        "class": (x.sum() * 0.3).long() % 5,
                                        "angle": x[0].mean(1)[:2]}}


class MultiTask(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(),
                                   nn.Conv2d(32, 32, 3, padding=1), nn.ReLU())
        self.heads = nn.ModuleDict({
            "depth": nn.Conv2d(32, 1, 1),
            "class": nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 5)),
            "angle": nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 2))})
        self.tasks = tasks

    def forward(self, x):
        shared = self.trunk(x)
        return {task: self.heads[task](shared) for task in self.tasks}


LOSSES = {"depth": F.l1_loss, "class": F.cross_entropy, "angle": F.mse_loss}
torch.manual_seed(15)
loader = DataLoader(Scenes(384), batch_size=48, shuffle=True)
model = MultiTask(["depth", "class"])
log_vars = {task: nn.Parameter(torch.zeros(())) for task in LOSSES}
optimizer = torch.optim.SGD([{"params": model.parameters()},
                             {"params": list(log_vars.values()), "lr": 0.005}], lr=0.03)
for epoch in range(5):
    if epoch == 2:
        model.tasks = model.tasks + ["angle"]
    if epoch == 4:
        model.tasks.remove("depth")
    seen = {task: 0.0 for task in LOSSES}
    for batch in loader:
        outputs = model(batch["image"])
        losses = {t: LOSSES[t](o, batch["targets"][t]) for t, o in outputs.items()}
        total = sum(torch.exp(-log_vars[t]) * v + log_vars[t] for t, v in losses.items())
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        for task, value in losses.items():
            seen[task] += value.item()
    print(epoch, *(f"{t}={v / len(loader):.6f}" for t, v in seen.items()))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {total.item():.6f}",
      *(f"{v.item():.6f}" for v in log_vars.values()))
