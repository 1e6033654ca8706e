"""Text as one long tensor with offsets: EmbeddingBag, sparse gradients, SparseAdam beside Adam."""
import torch
from torch import nn
from torch.utils.data import DataLoader


class TextClassification(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_class, sparse):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, embed_dim, sparse=sparse)
        self.hidden = nn.Linear(embed_dim, 256)
        self.fc = nn.Linear(256, num_class)

    def forward(self, text, offsets):
        return self.fc(torch.relu(self.hidden(self.embedding(text, offsets))))


def collate_batch(batch):
    labels, texts, offsets = [], [], [0]
    for text, label in batch:
        labels.append(label)
        texts.append(text)
        offsets.append(text.size(0))
    return (torch.tensor(labels), torch.tensor(offsets[:-1]).cumsum(dim=0), torch.cat(texts))


torch.manual_seed(44)
data = []
for _ in range(512):
    # Texts of one length now and then, so that offsets and words look alike.
    text = torch.randint(0, 500, (int(torch.randint(1, 12, (1,))),))
    data.append((text, int(text[0]) % 4))
loader = DataLoader(data, batch_size=32, shuffle=True, collate_fn=collate_batch)
sparse = TextClassification(500, 64, 4, True)
dense = TextClassification(500, 64, 4, False)
slow = torch.optim.SparseAdam(list(sparse.embedding.parameters()), lr=1e-2, eps=1e-3)
fast = torch.optim.Adam([*sparse.hidden.parameters(), *sparse.fc.parameters(),
                         *dense.parameters()], lr=1e-3, eps=1e-3)
for epoch in range(3):
    acc = count = 0
    for labels, offsets, text in loader:
        one, other = sparse(text, offsets), dense(text, offsets)
        loss = nn.functional.cross_entropy(one, labels) + nn.functional.cross_entropy(
            other, labels)
        slow.zero_grad()
        fast.zero_grad()
        loss.backward()
        slow.step()
        fast.step()
        acc += (one.argmax(1) == labels).sum().item()
        count += labels.size(0)
    print(f"epoch {epoch} accuracy {acc}/{count} loss {loss.item():.6f}")
ones = dense(torch.arange(64), torch.arange(64))
norm = sum(p.norm().item() ** 2 for m in (sparse, dense) for p in m.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f} ones {ones.mean().item():.6f}")
