"""Stochastic weight averaging with torch's own AveragedModel, SWALR and update_bn."""
import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

torch.manual_seed(10)
x = torch.randn(512, 1, 12, 12)
y = ((x[:, 0, :6].mean((1, 2)) > 0).long() + 2 * (x[:, 0, :, :6].mean((1, 2)) > 0).long())
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 64, shuffle=True)
model = nn.Sequential(nn.Conv2d(1, 24, 3, bias=False), nn.BatchNorm2d(24), nn.ReLU(),
                      nn.Conv2d(24, 24, 3, bias=False), nn.BatchNorm2d(24), nn.ReLU(),
                      nn.Flatten(), nn.Linear(24 * 64, 4))
swa_model = AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
swa_scheduler = SWALR(optimizer, swa_lr=0.005, anneal_epochs=2)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(6):
    for input, target in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(input), target)
        loss.backward()
        optimizer.step()
    if epoch > 2:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    else:
        scheduler.step()
    print(f"epoch {epoch} lr {optimizer.param_groups[0]['lr']:.6f} loss {loss.item():.6f}")
update_bn(loader, swa_model)
swa_model.eval()
with torch.no_grad():
    value = loss_fn(swa_model(x), y).item()
norm = sum(p.norm().item() ** 2 for p in swa_model.parameters()) ** 0.5
print(f"FINAL averaged {swa_model.n_averaged.item()} norm {norm:.6f} loss {value:.6f}")
