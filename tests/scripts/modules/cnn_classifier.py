"""A small convolutional classifier, loader made once: the script of every tutorial."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)


def make_images(count):
    labels = torch.randint(0, 4, (count,))
    images = 1.6 * torch.randn(count, 1, 12, 12)
    for k in range(4):
        rows = slice(3 * k, 3 * k + 3)
        images[labels == k, :, rows] += 1.0
    return images, labels


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * 9, 64)
        self.fc2 = nn.Linear(64, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        return self.fc2(F.relu(self.fc1(x)))


train_loader = DataLoader(TensorDataset(*make_images(1200)), batch_size=64, shuffle=True)
test_loader = DataLoader(TensorDataset(*make_images(256)), batch_size=128)
model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

for epoch in range(4):
    model.train()
    running_loss = 0.0
    for i, (inputs, labels) in enumerate(train_loader):
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        if i % 10 == 9:
            print("[%d, %3d] loss: %.4f" % (epoch + 1, i + 1, running_loss / 10))
            running_loss = 0.0

model.eval()
correct, total, test_loss = 0, 0, 0.0
with torch.no_grad():
    for inputs, labels in test_loader:
        outputs = model(inputs)
        test_loss += criterion(outputs, labels).item()
        correct += (outputs.argmax(1) == labels).sum().item()
        total += labels.size(0)
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f accuracy %.4f" % (norm, test_loss / 2, correct / total))
