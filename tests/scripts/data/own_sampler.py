"""An own batch sampler that groups samples by length; batches have different sizes and widths."""
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler


class Buckets(Sampler):
    """Batches of about the same number of tokens."""

    def __init__(self, lengths, tokens, seed):
        self.lengths, self.tokens = lengths, tokens
        self.random = random.Random(seed)

    def __iter__(self):
        order = sorted(range(len(self.lengths)), key=lambda i: (self.lengths[i],
                                                                self.random.random()))
        batches, batch = [], []
        for i in order:
            if batch and (len(batch) + 1) * self.lengths[i] > self.tokens:
                batches.append(batch)
                batch = []
            batch.append(i)
        batches.append(batch)
        self.random.shuffle(batches)
        yield from batches


class Walks(Dataset):
    def __init__(self, n):
        self.rows = [torch.randn(random.randint(4, 20), 40) for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i], self.rows[i].mean(0).argmax()


def collate(samples):
    width = max(len(x) for x, _ in samples)
    batch = torch.zeros(len(samples), width, 40)
    mask = torch.zeros(len(samples), width, dtype=torch.bool)
    for i, (x, _) in enumerate(samples):
        batch[i, :len(x)], mask[i, :len(x)] = x, True
    return {"x": batch, "mask": mask}, torch.stack([y for _, y in samples])


class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.each = nn.Sequential(nn.Linear(40, 160), nn.ReLU(), nn.Linear(160, 160))
        self.out = nn.Linear(160, 40)

    def forward(self, x, mask):
        h = self.each(x) * mask.unsqueeze(2)
        return self.out(h.sum(1) / mask.sum(1, keepdim=True))


random.seed(227)
torch.manual_seed(227)
data = Walks(640)
sampler = Buckets([len(r) for r in data.rows], tokens=640, seed=5)
loader = DataLoader(data, batch_sampler=sampler, collate_fn=collate)
model = Pool()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
steps = 0
for epoch in range(6):
    sizes = []
    for inputs, target in loader:
        loss = nn.functional.cross_entropy(model(**inputs), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sizes.append(len(target))
        steps += 1
    print("epoch", epoch, "batches of", min(sizes), "to", max(sizes), "loss %.5f" % loss.item())
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL steps %d norm %.6f loss %.6f" % (steps, norm, loss.item()))
