"""BatchNorm2d in a small residual network; its running statistics are part of the result."""
import torch
import torch.nn as nn


def conv_bn(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout))


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.one = conv_bn(channels, channels)
        self.two = conv_bn(channels, channels)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(x + self.two(self.relu(self.one(x))))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv_bn(2, 12)
        self.stage = nn.Sequential(Residual(12), conv_bn(12, 20, 2), nn.ReLU(), Residual(20))
        self.head = nn.Linear(20, 5)

    def forward(self, x):
        x = self.stage(torch.relu(self.stem(x)))
        return self.head(x.mean((2, 3)))


torch.manual_seed(37)
labels = torch.randint(0, 5, (700,))
images = torch.randn(700, 2, 8, 8) + labels.view(-1, 1, 1, 1) * torch.linspace(-0.4, 0.4, 8)
train = torch.utils.data.TensorDataset(images[:600], labels[:600])
loader = torch.utils.data.DataLoader(train, batch_size=48, shuffle=True)

model = ResNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.3)
for epoch in range(4):
    model.train()
    losses = []
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()
    model.eval()
    with torch.no_grad():
        val = nn.functional.cross_entropy(model(images[600:]), labels[600:]).item()
    print(f"epoch {epoch} train {sum(losses) / len(losses):.5f} val {val:.5f}")

stats = torch.cat([b.flatten().to(images.dtype) for b in model.buffers()]).norm().item()
norm = torch.cat([p.flatten() for p in model.parameters()]).norm().item()
print(f"FINAL norm {norm:.6f} statistics {stats:.6f} val {val:.6f}")
