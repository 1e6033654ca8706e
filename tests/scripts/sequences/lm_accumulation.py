"""A tiny transformer language model whose gradients are accumulated over four batches."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(),
                                 nn.Linear(2 * width, width))

    def attend(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).split(c, dim=2)
        q, k, v = (z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(c // self.heads)
        mask = torch.tril(torch.ones(t, t, dtype=torch.bool))
        weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(b, t, c))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class LanguageModel(nn.Module):
    def __init__(self, vocabulary, width=48, length=24):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.ModuleList([Block(width, 4) for _ in range(2)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions[: ids.size(1)]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def main():
    torch.manual_seed(7)
    vocabulary, length, accumulate = 64, 24, 4
    # A noisy counter: the next token is mostly the last one plus three.
    text = torch.zeros(20000, dtype=torch.long)
    noise = torch.rand(20000)
    for i in range(1, len(text)):
        text[i] = (text[i - 1] + (3 if noise[i] < 0.9 else 11)) % vocabulary
    rows = text[: len(text) // (length + 1) * (length + 1)].view(-1, length + 1)
    loader = torch.utils.data.DataLoader(rows, batch_size=16, drop_last=True)

    model = LanguageModel(vocabulary)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    optimizer.zero_grad()
    total, updates = 0.0, 0
    for epoch in range(2):
        for i, batch in enumerate(loader):
            logits = model(batch[:, :-1])
            loss = F.cross_entropy(logits.reshape(-1, vocabulary), batch[:, 1:].reshape(-1))
            (loss / accumulate).backward()
            total += loss.item()
            if (i + 1) % accumulate == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
                updates += 1
        mean = total / len(loader)
        print(f"epoch {epoch} loss {mean:.4f} perplexity {math.exp(mean):.3f}")
        total = 0.0
    norm = math.sqrt(sum(float(p.detach().pow(2).sum()) for p in model.parameters()))
    print(f"FINAL updates {updates} norm {norm:.6f} loss {loss.item():.6f}")


if __name__ == "__main__":
    main()
