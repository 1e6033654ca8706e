"""The Annotated Transformer's NoamOpt: a wrapper with a private counter sets the rate."""
import torch
from torch import nn


class NoamOpt:
    "Optim wrapper that implements rate."

    def __init__(self, model_size, factor, warmup, optimizer):
        self.optimizer = optimizer
        self._step = 0
        self.warmup = warmup
        self.factor = factor
        self.model_size = model_size
        self._rate = 0

    def step(self):
        "Update parameters and rate"
        self._step += 1
        rate = self.rate()
        for p in self.optimizer.param_groups:
            p["lr"] = rate
        self._rate = rate
        self.optimizer.step()

    def rate(self, step=None):
        if step is None:
            step = self._step
        return self.factor * (self.model_size ** -0.5 * min(step ** -0.5,
                                                            step * self.warmup ** -1.5))


class Copier(nn.Module):
    def __init__(self, vocab=24, width=40):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        layer = nn.TransformerEncoderLayer(width, 4, 80, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.place = nn.Parameter(torch.randn(10, width))
        self.out = nn.Linear(width, vocab)

    def forward(self, tokens):
        return self.out(self.encoder(self.embed(tokens) + self.place))


torch.manual_seed(113)
data = torch.randint(0, 24, (900, 10))
loader = torch.utils.data.DataLoader(data, batch_size=60)
model = Copier()
opt = NoamOpt(40, 0.3, 30, torch.optim.Adam(model.parameters(), lr=0, betas=(0.9, 0.98), eps=1e-9))
for epoch in range(4):
    for tokens in loader:
        out = model(tokens)
        loss = nn.functional.cross_entropy(out.flatten(0, 1), tokens.flip(1).flatten())
        opt.optimizer.zero_grad()
        loss.backward()
        opt.step()
    print("epoch %d step %d rate %.6f loss %.5f" % (epoch, opt._step, opt._rate, loss.item()))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL steps %d norm %.6f loss %.6f" % (opt._step, norm, loss.item()))
