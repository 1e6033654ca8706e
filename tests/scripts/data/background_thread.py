"""Batches are prepared by a thread through a queue; another thread writes a log."""
import queue
import threading

import torch
from torch import nn


class Prefetcher(threading.Thread):
    def __init__(self, x, y, size, epochs):
        super().__init__(daemon=True)
        self.x, self.y, self.size, self.epochs = x, y, size, epochs
        self.queue = queue.Queue(maxsize=3)

    def run(self):
        for epoch in range(self.epochs):
            for start in range(0, len(self.x), self.size):
                rows = slice(start, start + self.size)
                self.queue.put((self.x[rows] * 1.0, self.y[rows]))
        self.queue.put(None)

    def __iter__(self):
        while (item := self.queue.get()) is not None:
            yield item


class LogWriter(threading.Thread):
    def __init__(self, path):
        super().__init__()
        self.lines, self.path = queue.Queue(), path

    def run(self):
        with open(self.path, "w") as f:
            while (line := self.lines.get()) is not None:
                f.write(line + "\n")


torch.manual_seed(419)
x = torch.randn(1000, 85)
y = x[:, :3].pow(2).sum(1, keepdim=True).sqrt()
model = nn.Sequential(nn.Linear(85, 340), nn.ReLU(), nn.Linear(340, 340), nn.ReLU(),
                      nn.Linear(340, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
batches = Prefetcher(x, y, 50, 4)
batches.start()
log = LogWriter("steps.log")
log.start()
for step, (a, b) in enumerate(batches):
    loss = nn.functional.smooth_l1_loss(model(a), b)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log.lines.put("%d %.6f" % (step, loss.item()))
log.lines.put(None)
log.join()
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL steps %d norm %.6f loss %.6f" % (step + 1, norm, loss.item()))
