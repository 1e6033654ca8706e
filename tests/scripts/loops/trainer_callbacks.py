"""A Trainer class with callbacks: history, best checkpoint, a learning-rate callback."""
import json

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Callback:
    def on_epoch_begin(self, trainer): pass
    def on_batch_end(self, trainer, loss): pass
    def on_epoch_end(self, trainer, metrics): pass


class History(Callback):
    def __init__(self):
        self.rows, self.batches = [], 0

    def on_batch_end(self, trainer, loss):
        self.batches += 1

    def on_epoch_end(self, trainer, metrics):
        self.rows.append({"epoch": trainer.epoch, **metrics})
        with open("history.json", "w") as f:
            json.dump(self.rows, f, indent=1)


class BestCheckpoint(Callback):
    def __init__(self, path):
        self.path, self.best = path, None

    def on_epoch_end(self, trainer, metrics):
        if self.best is None or metrics["val_loss"] < self.best:
            self.best = metrics["val_loss"]
            torch.save(trainer.model.state_dict(), self.path)


class Warmup(Callback):
    def __init__(self, steps):
        self.steps, self.done = steps, 0

    def on_batch_end(self, trainer, loss):
        self.done += 1
        for group in trainer.optimizer.param_groups:
            group["lr"] = 1e-3 * min(1.0, self.done / self.steps)


class Trainer:
    def __init__(self, model, optimizer, loss_fn, callbacks):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.callbacks, self.epoch = callbacks, 0

    def fire(self, name, *args):
        for callback in self.callbacks:
            getattr(callback, name)(self, *args)

    def run_batch(self, batch):
        x, y = batch
        return self.loss_fn(self.model(x), y)

    def fit(self, train, valid, epochs):
        for self.epoch in range(epochs):
            self.fire("on_epoch_begin")
            self.model.train()
            total = 0.0
            for batch in train:
                self.optimizer.zero_grad()
                loss = self.run_batch(batch)
                loss.backward()
                self.optimizer.step()
                total += loss.item()
                self.fire("on_batch_end", loss.item())
            self.model.eval()
            with torch.no_grad():
                val = sum(self.run_batch(b).item() for b in valid) / len(valid)
            metrics = {"loss": total / len(train), "val_loss": val}
            self.fire("on_epoch_end", metrics)
            print("epoch", self.epoch, " ".join(f"{k}={v:.6f}" for k, v in metrics.items()))


if __name__ == "__main__":
    torch.manual_seed(43)
    x = torch.randn(1100, 64)
    y = torch.stack([x[:, :8].prod(1).tanh(), x[:, 8:16].sum(1)], 1)
    train = DataLoader(TensorDataset(x[:900], y[:900]), batch_size=60, shuffle=True)
    valid = DataLoader(TensorDataset(x[900:], y[900:]), batch_size=100)
    model = nn.Sequential(nn.Linear(64, 400), nn.ELU(), nn.Linear(400, 400), nn.ELU(),
                          nn.Linear(400, 2))
    history, best = History(), BestCheckpoint("best.pt")
    trainer = Trainer(model, torch.optim.RMSprop(model.parameters(), lr=1e-5), nn.SmoothL1Loss(),
                      [history, best, Warmup(20)])
    trainer.fit(train, valid, 5)
    norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
    print(f"FINAL batches {history.batches} norm {norm:.6f} best {best.best:.6f}")
