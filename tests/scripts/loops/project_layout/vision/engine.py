"""The loop, with meters and a global step."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class AverageMeter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.sum = self.count = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(1, self.count)


class Engine:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.meter, self.global_step = AverageMeter(), 0
        labels = torch.randint(0, 4, (720,))
        images = torch.randn(720, 1, 10, 10)
        images[:, :, 2:6, 2:6] += 0.4 * labels.view(-1, 1, 1, 1)
        self.loader = DataLoader(TensorDataset(images, labels), batch_size=48, shuffle=True)

    def train_epoch(self, epoch):
        self.meter.reset()
        for images, labels in self.loader:
            loss = nn.functional.cross_entropy(self.model(images), labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.global_step += 1
            self.meter.update(loss.item(), len(labels))
            if self.global_step % 10 == 0:
                print(f"step {self.global_step} loss {self.meter.avg:.5f} ({self.meter.count})")

    def finish(self):
        norm = sum(p.norm().item() ** 2 for p in self.model.parameters()) ** 0.5
        print(f"FINAL steps {self.global_step} norm {norm:.6f} loss {self.meter.avg:.6f}")
