"""Augmentation in the dataset with Python's random and NumPy's random numbers."""
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

random.seed(10)
np.random.seed(10)
torch.manual_seed(10)


class Augmented(Dataset):
    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.images[i]
        if random.random() < 0.5:
            image = image[:, ::-1]
        shift = random.randint(-1, 1)
        image = np.roll(image, shift, axis=0)
        image = image + np.random.normal(0, 0.2, image.shape)
        return torch.Tensor(image.copy()).unsqueeze(0), int(self.labels[i])


labels = np.random.randint(0, 3, 700)
images = np.random.normal(0, 1, (700, 10, 10))
for k in range(3):
    images[labels == k, 3 * k + 1:3 * k + 3] += 0.8
loader = DataLoader(Augmented(images, labels), batch_size=50, shuffle=True)
model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
                      nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
                      nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for epoch in range(4):
    total = 0.0
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch %d loss %.6f draw %.6f" % (epoch, total / len(loader), random.random()))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f next %.6f %.6f"
      % (norm, total / len(loader), random.random(), np.random.rand()))
