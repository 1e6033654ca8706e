"""The models that are trained, each with samples that lie ready in memory.

Sizes are those of small but real jobs: 2 to 4 MB of parameters, steps of 6 to 60 milliseconds.
"""

from typing import Callable, NamedTuple, Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional

SAMPLES = 4096
IMAGES = 1024


class Workload(NamedTuple):
    """A model, its samples, and how well it does on a batch of them."""

    model: nn.Module
    tensors: Tuple[Tensor, ...]
    loss: Callable[..., Tensor]
    batch: int  # Of one worker.

    def optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)


def cnn() -> Workload:
    """Images of 32x32x3; 0.62 million parameters."""
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
        nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 8 * 8, 136), nn.ReLU(), nn.Linear(136, 10),
    )
    inputs = torch.randn(IMAGES, 3, 32, 32)
    targets = torch.randint(10, (IMAGES,))
    return Workload(model, (inputs, targets), cross_entropy_of(model), 32)


class LanguageModel(nn.Module):
    """Two transformer layers of width 128 over 64 of 512 words."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(512, 128)
        self.places = nn.Parameter(torch.zeros(64, 128))
        layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(128, 512)
        self.register_buffer("mask", torch.full((64, 64), float("-inf")).triu(1), persistent=False)

    def forward(self, words: Tensor) -> Tensor:
        return self.out(self.layers(self.words(words) + self.places, self.mask))


def lm() -> Workload:
    model = LanguageModel()
    words = torch.randint(512, (SAMPLES, 65))

    def loss(words: Tensor, model: nn.Module = model) -> Tensor:
        scores = model(words[:, :-1])
        return functional.cross_entropy(scores.reshape(-1, 512), words[:, 1:].reshape(-1))

    return Workload(model, (words,), loss, 8)


class WideDeep(nn.Module):
    """26 tables of 2000 embeddings of 16, 13 numbers, and a small network over all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(2000, 16) for _ in range(26))
        self.wide = nn.Linear(13, 1)
        self.deep = nn.Sequential(
            nn.Linear(26 * 16 + 13, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(),
            nn.Linear(128, 1),
        )

    def forward(self, numbers: Tensor, categories: Tensor) -> Tensor:
        columns = [table(categories[:, i]) for i, table in enumerate(self.tables)]
        return self.wide(numbers) + self.deep(torch.cat([*columns, numbers], 1))


def widedeep() -> Workload:
    model = WideDeep()
    numbers = torch.randn(SAMPLES, 13)
    categories = torch.randint(2000, (SAMPLES, 26))
    clicks = torch.randint(2, (SAMPLES, 1)).float()

    def loss(
        numbers: Tensor, categories: Tensor, clicks: Tensor, model: nn.Module = model
    ) -> Tensor:
        scores = model(numbers, categories)
        return functional.binary_cross_entropy_with_logits(scores, clicks)

    return Workload(model, (numbers, categories, clicks), loss, 256)


def cross_entropy_of(own: nn.Module) -> Callable[..., Tensor]:
    def loss(inputs: Tensor, targets: Tensor, model: nn.Module = own) -> Tensor:
        return functional.cross_entropy(model(inputs), targets)

    return loss


WORKLOADS = {"cnn": cnn, "lm": lm, "widedeep": widedeep}


def workload(name: str) -> Workload:
    """The same numbers in every process."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    return WORKLOADS[name]()
