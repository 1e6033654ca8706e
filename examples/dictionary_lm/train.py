"""Trains a small transformer on the text of the GNU dictionary, letter by letter."""

import argparse
import gzip
import math
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import Dataset

import rubato

SYMBOLS = 128  # Of ASCII; all else becomes a question mark.


class Letters(Dataset):
    """Pieces of a text, and the same pieces one letter on."""

    def __init__(self, text, length):
        ascii_text = bytearray(text.encode("ascii", errors="replace"))
        self.letters = torch.frombuffer(ascii_text, dtype=torch.uint8).long()
        self.length = length

    def __len__(self):
        return (len(self.letters) - 1) // self.length

    def __getitem__(self, index):
        begin = index * self.length
        piece = self.letters[begin : begin + self.length + 1]
        return piece[:-1], piece[1:]


class Model(nn.Module):
    """Two layers that look back only."""

    def __init__(self, width=128, length=64):
        super().__init__()
        self.letters = nn.Embedding(SYMBOLS, width)
        self.places = nn.Parameter(torch.randn(length, width) / math.sqrt(width))
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(width, SYMBOLS)
        self.register_buffer("mask", torch.full((length, length), -math.inf).triu(1))

    def forward(self, text):
        return self.out(self.layers(self.letters(text) + self.places, self.mask))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", type=Path, default=Path("/usr/share/dictd/gcide.dict.dz"))
    parser.add_argument("--letters", type=int, default=400_000, help="of the text that are used")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=32)
    args = parser.parse_args()

    with gzip.open(args.text, "rt", encoding="utf-8", errors="replace") as file:
        text = file.read(args.letters)
    torch.manual_seed(1)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    trainer = rubato.Trainer(
        model, optimizer, Letters(text, 64), batch=args.batch, steps=args.steps, drop_last=True,
        schedulers=torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=args.steps + 1),
        before_apply=lambda: nn.utils.clip_grad_norm_(model.parameters(), 1.0))
    for letters, following in trainer:
        guess = model(letters)
        committed = trainer.step(functional.cross_entropy(guess.flatten(0, 1), following.flatten()))
        if committed and trainer.is_leader and trainer.step_number % 20 == 0:
            loss = trainer.metrics["loss"]
            print(f"step {trainer.step_number}: {loss / math.log(2):.3f} bits a letter", flush=True)


if __name__ == "__main__":
    main()
