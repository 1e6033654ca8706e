"""ReduceLROnPlateau on the mean training loss of the epoch, total / n, and running accuracy."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Spirals(Dataset):
    def __init__(self, n=1500):
        t = torch.linspace(0.5, 3.0, n)
        self.labels = torch.arange(n) % 3
        angle = 2.0 * t + self.labels * 2.094
        point = torch.stack([t * angle.cos(), t * angle.sin()], 1)
        lift = torch.randn(2, 60)
        self.points = torch.sin(point @ lift) + 0.9 * torch.randn(n, 60)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.points[index], self.labels[index]


torch.manual_seed(5)
loader = DataLoader(Spirals(), batch_size=125, shuffle=True)
model = nn.Sequential(nn.Linear(60, 320), nn.ReLU(), nn.Linear(320, 320), nn.ReLU(),
                      nn.Linear(320, 3))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0,
                                                       threshold=0.3)

for epoch in range(7):
    total_loss = correct = n = 0
    for x, y in loader:
        out = model(x)
        loss = loss_fn(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_loss += loss.item() * len(y)
        correct += (out.argmax(1) == y).sum().item()
        n += len(y)
    mean = total_loss / n
    scheduler.step(mean)
    print("epoch %d: loss %.5f, accuracy %.3f of %d, lr %g"
          % (epoch, mean, correct / n, n, optimizer.param_groups[0]["lr"]))

norm = sum((p ** 2).sum() for p in model.parameters()).sqrt().item()
print("FINAL norm %.6f loss %.6f" % (norm, mean))
