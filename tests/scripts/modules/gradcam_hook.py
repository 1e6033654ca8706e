"""Grad-CAM: forward registers a hook on its feature maps that keeps their gradient."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(17)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(),
                                      nn.Conv2d(12, 16, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(16 * 36, 4)
        self.norms = []

    def keep_gradient(self, gradient):
        self.norms.append(gradient.norm().item())

    def forward(self, x):
        h = F.max_pool2d(self.features(x), 2)
        if h.requires_grad:
            h.register_hook(self.keep_gradient)
        return self.fc(h.flatten(1))


labels = torch.randint(0, 4, (600,))
images = torch.randn(600, 1, 12, 12)
for k in range(4):
    images[labels == k, :, 3 * k:3 * k + 3] += 1.0
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for step in range(50):
    rows = torch.arange(step * 60, step * 60 + 60) % 600
    loss = F.cross_entropy(net(images[rows]), labels[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(step, len(net.norms), "gradient %.6f" % net.norms[-1])
norm = sum(p.norm().item() ** 2 for p in net.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f gradients %.6f" % (norm, loss.item(), sum(net.norms)))
