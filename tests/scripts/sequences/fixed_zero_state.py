"""A recurrent model that makes its initial state with the batch size of a constant."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH, HIDDEN = 40, 128
torch.manual_seed(79)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(60, 32)
        self.rnn = nn.LSTM(32, HIDDEN, batch_first=True)
        self.out = nn.Linear(HIDDEN, 5)

    def forward(self, tokens):
        h0 = torch.zeros(1, BATCH, HIDDEN)
        c0 = torch.zeros(1, BATCH, HIDDEN)
        hidden, _ = self.rnn(self.embed(tokens), (h0, c0))
        return self.out(hidden)


tokens = torch.randint(0, 60, (600, 10))
tags = (tokens + tokens.roll(1, 1)) % 5
loader = DataLoader(TensorDataset(tokens, tags), batch_size=BATCH, drop_last=True)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(5):
    for x, y in loader:
        out = model(x)
        loss = loss_fn(out.view(-1, 5), y.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", round(loss.item(), 6))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, loss.item()))
