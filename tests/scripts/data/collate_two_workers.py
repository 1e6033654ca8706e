"""A dataset of variable length, an own collate function, two loader processes, drop_last."""
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    """Token lists; the label says whether the first token comes again."""

    def __init__(self, n):
        self.items = []
        for _ in range(n):
            length = int(torch.randint(6, 16, ()))
            tokens = torch.randint(1, 200, (length,))
            if torch.rand(()) < 0.5:
                tokens[-1] = tokens[0]
            self.items.append((tokens, int((tokens[1:] == tokens[0]).any())))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(rows):
    tokens = pad_sequence([r[0] for r in rows], batch_first=True)
    lengths = torch.tensor([len(r[0]) for r in rows])
    labels = torch.tensor([r[1] for r in rows])
    return tokens, lengths, labels


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(200, 96, padding_idx=0)
        self.hidden = nn.Linear(192, 384)
        self.middle = nn.Linear(384, 384)
        self.out = nn.Linear(384, 2)

    def forward(self, tokens, lengths):
        vectors = self.embed(tokens)
        mean = vectors.sum(1) / lengths.unsqueeze(1)
        both = torch.cat([mean, vectors[:, 0] * mean], 1)
        return self.out(torch.relu(self.middle(torch.relu(self.hidden(both)))))


def main():
    torch.manual_seed(29)
    loader = DataLoader(Sentences(850), batch_size=64, shuffle=True, num_workers=2,
                        collate_fn=collate, drop_last=True)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    counter = 0
    for epoch in range(4):
        hits = 0
        for tokens, lengths, labels in loader:
            logits = model(tokens, lengths)
            loss = nn.functional.cross_entropy(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            counter += 1
            hits += (logits.argmax(1) == labels).sum().item()
        print(f"epoch {epoch} steps {counter} loss {loss.item():.5f} hits {hits}")
    norm = sum(p.norm() ** 2 for p in model.parameters()) ** 0.5
    print(f"FINAL steps {counter} norm {norm.item():.6f} loss {loss.item():.6f}")


if __name__ == "__main__":
    main()
