"""argparse, the logging module into a file, an own progress bar, running / len(dataset)."""
import argparse
import logging
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logger = logging.getLogger("train")


class Bar:
    """Like tqdm, but ours."""

    def __init__(self, iterable, width=20, stream=sys.stderr):
        self.iterable, self.width, self.stream = iterable, width, stream

    def __iter__(self):
        total = len(self.iterable)
        for i, item in enumerate(self.iterable, 1):
            yield item
            if i % 5 == 0 or i == total:
                filled = "#" * (i * self.width // total)
                self.stream.write(f"|{filled:<{self.width}}| {i}/{total}\n")


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", default=4, type=int)
    parser.add_argument("--hidden", default=360, type=int)
    parser.add_argument("--log", default="train.log")
    return parser.parse_args()


def run(args):
    torch.manual_seed(59)
    x = torch.randn(1200, 100)
    y = (x @ torch.randn(100, 7)).argmax(1)
    train_set = TensorDataset(x[:1000], y[:1000])
    valid_set = TensorDataset(x[1000:], y[1000:])
    train_loader = DataLoader(train_set, batch_size=75, shuffle=True)
    valid_loader = DataLoader(valid_set, batch_size=100)
    model = nn.Sequential(nn.Linear(100, args.hidden), nn.ReLU(),
                          nn.Linear(args.hidden, args.hidden),
                          nn.ReLU(), nn.Linear(args.hidden, 7))
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-4)
    loss_fn = nn.CrossEntropyLoss()
    seen = 0
    for epoch in range(args.epochs):
        running = 0.0
        for inputs, targets in Bar(train_loader):
            optimizer.zero_grad()
            loss = loss_fn(model(inputs), targets)
            loss.backward()
            optimizer.step()
            running += loss.item() * inputs.size(0)
            seen += inputs.size(0)
        with torch.no_grad():
            val = sum(loss_fn(model(a), b).item() for a, b in valid_loader) / len(valid_loader)
        logger.info("epoch %d train loss %.5f val %.5f seen %d",
                    epoch, running / len(train_loader.dataset), val, seen)
    norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
    print(f"FINAL seen {seen} norm {norm:.6f} train {running / len(train_set):.6f} val {val:.6f}")


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s",
                        handlers=[logging.FileHandler(args.log), logging.StreamHandler(sys.stdout)])
    logger.info("arguments %s", vars(args))
    run(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
