"""Trains a small convolutional network on Fashion-MNIST with Rubato's trainer."""

import argparse
import gzip
import struct
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import TensorDataset

import rubato


def read_idx(path):
    """The array in an idx file: a magic number, sizes, bytes."""
    with gzip.open(path) as file:
        _, _, kind, dimensions = struct.unpack(">BBBB", file.read(4))
        assert kind == 8, "expected unsigned bytes"
        shape = struct.unpack(f">{dimensions}I", file.read(4 * dimensions))
        return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).view(shape)


def load(folder, part, limit):
    images = read_idx(folder / f"{part}-images-idx3-ubyte.gz")[:limit]
    labels = read_idx(folder / f"{part}-labels-idx1-ubyte.gz")[:limit]
    return TensorDataset(images.unsqueeze(1).float() / 255, labels.long())


def make_model():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--limit", type=int, default=None, help="use so many images only")
    parser.add_argument("--deterministic", action="store_true",
                        help="the same bits for every history of resizes")
    parser.add_argument("--adaptive", action="store_true", help="let the batch grow")
    args = parser.parse_args()

    torch.manual_seed(1)
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    trainer = rubato.Trainer(
        model, optimizer, load(args.data, "train", args.limit), batch=256, epochs=args.epochs,
        schedulers=torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs),
        schedule="epoch", deterministic=args.deterministic, adaptive_batch=args.adaptive)
    for images, labels in trainer:
        trainer.step(functional.cross_entropy(model(images), labels))

    if trainer.is_leader:
        images, labels = load(args.data, "t10k", args.limit).tensors
        model.eval()
        with torch.no_grad():
            accuracy = (model(images).argmax(1) == labels).float().mean()
        print(f"{trainer.step_number} steps, accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
