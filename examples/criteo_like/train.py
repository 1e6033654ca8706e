"""Trains a wide and deep model on clicks that a planted model has drawn.

13 dense features and 26 categories whose values follow Zipf's law, as in Criteo's logs. Since
we know the model that decided the labels, we know the best AUC that anyone can reach.
"""

import argparse

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import TensorDataset

import rubato

DENSE, CATEGORIES = 13, 26


def plant(samples, values, seed):
    """Features, labels, and the chance of a click that the labels were drawn with."""
    generator = torch.Generator().manual_seed(1)  # The world: the same for training and test.
    ranks = torch.arange(1, values + 1, dtype=torch.float32)
    chances = (1 / ranks) / (1 / ranks).sum()
    effect = torch.randn(CATEGORIES, values, generator=generator) * 0.35
    direction = torch.randn(DENSE, generator=generator) * 0.3
    draw = torch.Generator().manual_seed(seed)
    dense = torch.randn(samples, DENSE, generator=draw)
    drawn = torch.multinomial(chances, samples * CATEGORIES, replacement=True, generator=draw)
    sparse = drawn.view(samples, CATEGORIES)
    logits = dense @ direction + effect[torch.arange(CATEGORIES), sparse].sum(1) - 1
    truth = torch.sigmoid(logits)
    clicks = (torch.rand(samples, generator=draw) < truth).float()
    return dense, sparse, clicks, truth


class WideAndDeep(nn.Module):
    """A weight for each value, and a small network over embeddings of all."""

    def __init__(self, values, width=8):
        super().__init__()
        self.register_buffer("first", torch.arange(CATEGORIES) * values)
        self.wide = nn.Embedding(CATEGORIES * values, 1)
        self.deep = nn.Embedding(CATEGORIES * values, width)
        self.layers = nn.Sequential(
            nn.Linear(DENSE + CATEGORIES * width, 64), nn.ReLU(), nn.Linear(64, 1))
        nn.init.zeros_(self.wide.weight)
        nn.init.normal_(self.deep.weight, std=0.01)

    def forward(self, dense, sparse):
        places = sparse + self.first
        network = self.layers(torch.cat([dense, self.deep(places).flatten(1)], 1))
        return (network + self.wide(places).sum(1)).squeeze(1)


def area(scores, clicks):
    """Of the curve of true over false positives: chance that a click scores above a non-click."""
    ranks = torch.empty(len(scores))
    ranks[scores.argsort()] = torch.arange(1, len(scores) + 1, dtype=torch.float32)
    right = clicks.sum()
    return ((ranks[clicks == 1].sum() - right * (right + 1) / 2)
            / (right * (len(clicks) - right))).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=60_000)
    parser.add_argument("--values", type=int, default=500, help="of each category")
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()

    dense, sparse, clicks, _ = plant(args.samples, args.values, seed=2)
    torch.manual_seed(1)
    model = WideAndDeep(args.values)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    trainer = rubato.Trainer(model, optimizer, TensorDataset(dense, sparse, clicks), batch=512,
                             epochs=args.epochs)
    for numbers, values, labels in trainer:
        guess = model(numbers, values)
        trainer.step(functional.binary_cross_entropy_with_logits(guess, labels))

    if trainer.is_leader:
        dense, sparse, clicks, truth = plant(20_000, args.values, seed=3)
        with torch.no_grad():
            reached = area(model(dense, sparse), clicks)
        print(f"AUC {reached:.4f} of {area(truth, clicks):.4f} that is possible")


if __name__ == "__main__":
    main()
