"""A wrapper around the loader that draws the next batch before it hands out the present one."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DataLoaderShard:
    """Like Accelerate's: knows when a batch is the last one."""

    def __init__(self, loader):
        self.loader, self.end_of_dataloader = loader, False

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        self.end_of_dataloader = False
        iterator = iter(self.loader)
        current = next(iterator)
        while True:
            try:
                following = next(iterator)
            except StopIteration:
                self.end_of_dataloader = True
                yield current
                return
            yield current
            current = following


class Accelerator:
    def __init__(self, gradient_accumulation_steps):
        self.every, self.count = gradient_accumulation_steps, 0

    def prepare(self, model, optimizer, loader):
        self.loader = DataLoaderShard(loader)
        return model, optimizer, self.loader

    def backward(self, loss):
        (loss / self.every).backward()
        self.count += 1

    @property
    def sync_gradients(self):
        return self.count % self.every == 0 or self.loader.end_of_dataloader


def main():
    torch.manual_seed(359)
    x = torch.randn(770, 79)
    y = x[:, :6].amax(1, keepdim=True)
    loader = DataLoader(TensorDataset(x, y), batch_size=35, shuffle=True)
    model = nn.Sequential(nn.Linear(79, 340), nn.ReLU(), nn.Linear(340, 340), nn.ReLU(),
                          nn.Linear(340, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=8e-4)
    accelerator = Accelerator(gradient_accumulation_steps=3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    updates = 0
    for epoch in range(4):
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                optimizer.step()
                optimizer.zero_grad()
                updates += 1
        print("epoch %d updates %d loss %.6f" % (epoch, updates, loss.item()))
    norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
    print("FINAL updates %d norm %.6f loss %.6f" % (updates, norm, loss.item()))


main()
