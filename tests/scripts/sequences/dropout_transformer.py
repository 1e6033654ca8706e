"""nn.TransformerEncoder with its usual dropout and a padding mask: random numbers in forward."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(nn.Module):
    def __init__(self, vocab=80, width=40):
        super().__init__()
        self.embed = nn.Embedding(vocab, width, padding_idx=0)
        layer = nn.TransformerEncoderLayer(width, 4, 80, dropout=0.1)  # Sequence first.
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(width, 2)

    def forward(self, tokens):
        mask = tokens == 0
        h = self.encoder(self.embed(tokens).transpose(0, 1),
                         src_key_padding_mask=mask).transpose(0, 1)
        h = h.masked_fill(mask.unsqueeze(2), 0.0).sum(1) / (~mask).sum(1, keepdim=True)
        return self.out(self.drop(h))


torch.manual_seed(409)
tokens = torch.randint(1, 80, (480, 14))
lengths = torch.randint(6, 15, (480, 1))
tokens[torch.arange(14).unsqueeze(0) >= lengths] = 0
labels = ((tokens > 40).sum(1) * 2 > lengths.squeeze(1)).long()
order = torch.Generator().manual_seed(1)
loader = DataLoader(TensorDataset(tokens, labels), batch_size=32, shuffle=True, generator=order)
model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(4):
    total = 0.0
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch %d loss %.4f" % (epoch, total / len(loader)))
model.train(False)
with torch.no_grad():
    value = nn.functional.cross_entropy(model(tokens), labels).item()
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, value))
