"""Semi-supervised: zip of a labelled and an unlabelled loader of different lengths."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(139)
centers = torch.randn(5, 75)
label = torch.randint(0, 5, (600,))
labelled = TensorDataset(centers[label] + 1.2 * torch.randn(600, 75), label)
unlabelled = TensorDataset(centers[torch.randint(0, 5, (1500,))] + 1.2 * torch.randn(1500, 75))
labelled_loader = DataLoader(labelled, batch_size=32, shuffle=True)
unlabelled_loader = DataLoader(unlabelled, batch_size=64, shuffle=True)

model = nn.Sequential(nn.Linear(75, 320), nn.ReLU(), nn.Linear(320, 320), nn.ReLU(),
                      nn.Linear(320, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
steps = 0
for epoch in range(4):
    sums = [0.0, 0.0]
    for (x, y), (u,) in zip(labelled_loader, unlabelled_loader):
        supervised = nn.functional.cross_entropy(model(x), y)
        p = model(u).softmax(1)
        entropy = -(p * (p + 1e-8).log()).sum(1).mean()
        loss = supervised + 0.1 * entropy
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
        sums[0] += supervised.item()
        sums[1] += entropy.item()
    print("epoch %d steps %d supervised %.5f entropy %.5f" % (epoch, steps, sums[0] / 19,
                                                              sums[1] / 19))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL steps %d norm %.6f loss %.6f" % (steps, norm, loss.item()))
