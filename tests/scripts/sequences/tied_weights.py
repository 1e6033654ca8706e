"""A recurrent language model whose output layer shares its weight with the embedding."""
import torch
from torch import nn


class TiedLM(nn.Module):
    def __init__(self, vocab=150, width=96):
        super().__init__()
        self.encoder = nn.Embedding(vocab, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.Linear(width, vocab)
        self.decoder.weight = self.encoder.weight
        self.encoder.weight.data.uniform_(-0.1, 0.1)

    def forward(self, ids):
        hidden, _ = self.rnn(self.encoder(ids))
        return self.decoder(hidden)


torch.manual_seed(283)
start = torch.randint(0, 150, (720, 1))
stride = torch.randint(1, 4, (720, 1))
ids = (start + stride * torch.arange(11)) % 150
loader = torch.utils.data.DataLoader(ids, batch_size=40, shuffle=True)
model = TiedLM()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    total = 0.0
    for batch in loader:
        logits = model(batch[:, :-1])
        loss = criterion(logits.transpose(1, 2), batch[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        total += loss.item()
    print("epoch %d loss %.5f" % (epoch, total / len(loader)))
assert model.decoder.weight is model.encoder.weight
torch.save(model.state_dict(), "tied.pt")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f parameters %d" % (norm, total / len(loader),
                                                   len(list(model.parameters()))))
