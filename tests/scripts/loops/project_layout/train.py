"""A project of several files: the loop and its meters are in a package beside the script."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch  # noqa: E402

from vision.engine import Engine  # noqa: E402
from vision.models import build  # noqa: E402


def main():
    torch.manual_seed(421)
    model = build("small")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    engine = Engine(model, optimizer)
    for epoch in range(4):
        engine.train_epoch(epoch)
    engine.finish()


if __name__ == "__main__":
    main()
