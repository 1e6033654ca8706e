"""An IterableDataset: a stream with its own generator and a shuffle buffer, no length."""
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __init__(self, count, seed):
        self.count, self.seed, self.passes = count, seed, 0

    def samples(self, generator):
        for _ in range(self.count):
            x = torch.randn(72, generator=generator)
            yield x, torch.sin(x[:4]).sum().reshape(1)

    def __iter__(self):
        self.passes += 1
        generator = torch.Generator().manual_seed(self.seed + self.passes)
        buffer = []
        for sample in self.samples(generator):
            if len(buffer) < 100:
                buffer.append(sample)
                continue
            index = int(torch.randint(0, 100, (), generator=generator))
            yield buffer[index]
            buffer[index] = sample
        yield from buffer


torch.manual_seed(47)
stream = Stream(1150, seed=100)
loader = DataLoader(stream, batch_size=64)
model = nn.Sequential(nn.Linear(72, 380), nn.SiLU(), nn.Linear(380, 380), nn.SiLU(),
                      nn.Linear(380, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
seen = 0
for epoch in range(4):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += x.shape[0]
    print(f"pass {stream.passes}: seen {seen}, last batch {x.shape[0]}, loss {loss.item():.5f}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL seen {seen} norm {norm:.6f} loss {loss.item():.6f}")
