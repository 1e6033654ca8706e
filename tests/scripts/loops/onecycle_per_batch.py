"""OneCycleLR stepped once per batch, with the rate printed."""
import argparse

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=100)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=42)
    return parser.parse_args()


def train_one_epoch(model, loader, optimizer, scheduler, loss_fn):
    model.train()
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def evaluate(model, loader, loss_fn):
    model.eval()
    return sum(loss_fn(model(x), y).item() * len(x) for x, y in loader) / len(loader.dataset)


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    x = torch.randn(2600, 100)
    y = (x[:, :5].sum(1) > 0).long() + (x[:, 5:10].sum(1) > 0).long()
    train = DataLoader(TensorDataset(x[:2400], y[:2400]), batch_size=args.batch_size, shuffle=True)
    valid = DataLoader(TensorDataset(x[2400:], y[2400:]), batch_size=200)
    model = nn.Sequential(nn.Linear(100, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU(),
                          nn.Linear(300, 3))
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
    scheduler = optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.lr, epochs=args.epochs, steps_per_epoch=len(train))
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        loss = train_one_epoch(model, train, optimizer, scheduler, loss_fn)
        val = evaluate(model, valid, loss_fn)
        print(f"epoch {epoch} lr {scheduler.get_last_lr()[0]:.3e} train {loss:.5f} val {val:.5f}")
    norm = torch.sqrt(sum(p.pow(2).sum() for p in model.parameters())).item()
    print(f"FINAL sched {scheduler.last_epoch} norm {norm:.6f} val {val:.6f}")


if __name__ == "__main__":
    main()
