"""Normalisation and activation in one layer, as libraries of image models have it."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)


class BatchNormAct2d(nn.BatchNorm2d):
    def __init__(self, channels, act=True, **kwargs):
        super().__init__(channels, **kwargs)
        self.act = nn.ReLU() if act else nn.Identity()

    def forward(self, x):
        self._check_input_dim(x)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
        x = F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
                         self.training or not self.track_running_stats, factor, self.eps)
        return self.act(x)


class Block(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.bn = BatchNormAct2d(cout)

    def forward(self, x):
        return self.bn(self.conv(x))


labels = torch.randint(0, 4, (640,))
images = torch.randn(640, 1, 12, 12)
for k in range(4):
    images[labels == k, :, 3 * k:3 * k + 3] += 1.0
images *= torch.linspace(0.5, 2, 640)[:, None, None, None]
loader = DataLoader(TensorDataset(images, labels), batch_size=64)
model = nn.Sequential(Block(1, 12), Block(12, 24), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(216, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for epoch in range(6):
    model.train()
    total = 0.0
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch %d loss %.5f" % (epoch, total / len(loader)))
model.eval()
with torch.no_grad():
    val = F.cross_entropy(model(images[:128]), labels[:128]).item()
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f running %.6f" % (norm, val, model[1].bn.running_var.norm().item()))
