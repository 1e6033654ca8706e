"""MoCo: a momentum encoder and a queue of keys in buffers, all updated inside forward."""
import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MoCo(nn.Module):
    def __init__(self, encoder, dim=24, size=256, momentum=0.95, temperature=0.2):
        super().__init__()
        self.momentum, self.temperature = momentum, temperature
        self.query = encoder
        self.key = copy.deepcopy(encoder)
        for p in self.key.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(size, dim), dim=1))
        self.register_buffer("pointer", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def update_key(self):
        for q, k in zip(self.query.parameters(), self.key.parameters()):
            k.data = k.data * self.momentum + q.data * (1.0 - self.momentum)

    @torch.no_grad()
    def enqueue(self, keys):
        at = int(self.pointer)
        self.queue[at:at + len(keys)] = keys
        self.pointer[0] = (at + len(keys)) % len(self.queue)

    def forward(self, one, two):
        q = F.normalize(self.query(one), dim=1)
        with torch.no_grad():
            self.update_key()
            k = F.normalize(self.key(two), dim=1)
        positive = (q * k).sum(1, keepdim=True)
        negative = q @ self.queue.clone().t()
        logits = torch.cat([positive, negative], 1) / self.temperature
        self.enqueue(k)
        return logits, torch.zeros(len(q), dtype=torch.long)


torch.manual_seed(191)
base = torch.randn(768, 80)
encoder = nn.Sequential(nn.Linear(80, 350), nn.ReLU(), nn.Linear(350, 350), nn.ReLU(),
                        nn.Linear(350, 24))
model = MoCo(encoder)
loader = DataLoader(TensorDataset(base), batch_size=64, shuffle=True, drop_last=True)
optimizer = torch.optim.SGD(model.query.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)
views = torch.Generator().manual_seed(8)
for epoch in range(5):
    total = 0.0
    for (x,) in loader:
        one = x + 0.5 * torch.randn(x.shape, generator=views)
        two = x + 0.5 * torch.randn(x.shape, generator=views)
        logits, target = model(one, two)
        loss = F.cross_entropy(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch %d loss %.5f pointer %d" % (epoch, total / len(loader), model.pointer.item()))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f keys %.6f pointer %d loss %.6f"
      % (norm, model.queue.norm(dim=1).mean().item(), model.pointer.item(), total / len(loader)))
