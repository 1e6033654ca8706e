"""Sentences of different lengths: a batch sampler by length, packed sequences inside the model."""
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader


class BucketBatchSampler:
    def __init__(self, lengths, batch_size):
        self.lengths, self.batch_size = lengths, batch_size

    def __iter__(self):
        pool = list(range(len(self.lengths)))
        random.shuffle(pool)
        for at in range(0, len(pool), self.batch_size * 4):
            bucket = sorted(pool[at:at + self.batch_size * 4], key=lambda i: self.lengths[i])
            batches = [bucket[i:i + self.batch_size]
                       for i in range(0, len(bucket), self.batch_size)]
            random.shuffle(batches)
            yield from batches

    def __len__(self):
        return -(-len(self.lengths) // self.batch_size)


def collate_batch(batch):
    lengths = torch.tensor([len(ids) for ids, _ in batch])
    ids = pad_sequence([ids for ids, _ in batch], batch_first=True)
    return ids, lengths, torch.tensor([label for _, label in batch])


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(120, 48, padding_idx=0)
        self.rnn = nn.LSTM(48, 96, batch_first=True)
        self.fc = nn.Linear(96 * 2, 3)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.embedding(ids), lengths, batch_first=True,
                                      enforce_sorted=False)
        packed, (hidden, _) = self.rnn(packed)
        output, _ = pad_packed_sequence(packed, batch_first=True)
        mean = output.sum(1) / lengths[:, None].to(output.dtype)
        return self.fc(torch.cat([hidden[-1], mean], 1))


class Tagger(nn.Module):
    """Tells a class for every word, padded to the longest of the batch."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(120, 48)
        self.rnn = nn.GRU(48, 64, batch_first=True)
        self.fc = nn.Linear(64, 2)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.embedding(ids), lengths, batch_first=True,
                                      enforce_sorted=False)
        output, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.fc(output)


random.seed(33)
torch.manual_seed(33)
data = []
for _ in range(400):
    ids = torch.randint(1, 120, (random.randint(3, 20),))
    data.append((ids, int(ids[0] + ids[-1]) % 3))
loader = DataLoader(data, batch_sampler=BucketBatchSampler([len(ids) for ids, _ in data], 32),
                    collate_fn=collate_batch)
reader, tagger = Reader(), Tagger()
optimizer = torch.optim.SGD([*reader.parameters(), *tagger.parameters()], lr=0.1)
for epoch in range(3):
    total = 0.0
    for ids, lengths, labels in loader:
        loss = nn.functional.cross_entropy(reader(ids, lengths), labels)
        words = tagger(ids, lengths)
        target = torch.where(ids > 0, ids % 2, torch.full_like(ids, -100))[:, :words.shape[1]]
        loss = loss + nn.functional.cross_entropy(words.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.6f}")
norm = sum(p.norm().item() ** 2 for m in (reader, tagger) for p in m.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {total / len(loader):.6f}")
