"""nn.DataParallel around the model, checkpoint of model.module, loader made inside the loop."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(107)
dataset = TensorDataset(torch.randn(800, 3, 10, 10), torch.randint(0, 6, (800,)))
dataset.tensors[0].add_(0.15 * dataset.tensors[1].view(-1, 1, 1, 1))

model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2),
                      nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                      nn.Flatten(), nn.Linear(32, 6))
model = nn.DataParallel(model)
if torch.cuda.is_available():
    model = model.cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(4):
    total, hits = 0.0, 0
    for images, labels in DataLoader(dataset, batch_size=50, shuffle=True):
        logits = model(images)
        loss = criterion(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        hits += logits.argmax(1).eq(labels).sum().item()
    print("epoch {}: loss {:.5f} hits {}".format(epoch, total / 16, hits))
torch.save(model.module.state_dict(), "model.pth")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm {:.6f} loss {:.6f}".format(norm, total / 16))
