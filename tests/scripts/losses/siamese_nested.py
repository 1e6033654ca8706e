"""Nested calls: a wrapper module calls one encoder three times; triplet loss inside the wrapper."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Triplets(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.label = torch.randint(0, 8, (n,), generator=g)
        centers = torch.randn(8, 77, generator=g)
        self.x = centers[self.label] + 1.5 * torch.randn(n, 77, generator=g)
        self.other = torch.randint(1, 7, (n,), generator=g)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        same = (self.label == self.label[i]).nonzero().squeeze(1)
        different = (self.label == (self.label[i] + self.other[i]) % 8).nonzero().squeeze(1)
        return self.x[i], self.x[same[i % len(same)]], self.x[different[i % len(different)]]


class TripletNet(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.margin = nn.TripletMarginLoss(margin=0.5, reduction="none")

    def forward(self, anchor, positive, negative):
        a, p, n = self.encoder(anchor), self.encoder(positive), self.encoder(negative)
        return self.margin(a, p, n)


torch.manual_seed(347)
encoder = nn.Sequential(nn.Linear(77, 280), nn.ReLU(), nn.Linear(280, 280), nn.ReLU(),
                        nn.Linear(280, 16))
model = TripletNet(encoder)
optimizer = torch.optim.SGD(model.parameters(), lr=0.003, momentum=0.8)
loader = DataLoader(Triplets(720, 3), batch_size=60, shuffle=True)
for epoch in range(4):
    active = 0
    for batch in loader:
        losses = model(*batch)
        loss = losses.sum() / max(1, int((losses > 0).sum()))  # Mean over the active triplets.
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        active += int((losses > 0).sum())
    print("epoch %d loss %.6f active %d" % (epoch, loss.item(), active))
with torch.no_grad():
    spread = encoder(torch.ones(4, 77)).norm().item()  # Also called directly.
norm = sum(p.norm().item() ** 2 for p in encoder.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f spread %.6f" % (norm, loss.item(), spread))
