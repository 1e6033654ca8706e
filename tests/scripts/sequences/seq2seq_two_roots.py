"""Encoder and decoder are separate modules; the decoder is called once per output token."""
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.gru = nn.GRU(width, width, batch_first=True)

    def forward(self, tokens):
        outputs, hidden = self.gru(self.embed(tokens))
        return outputs, hidden.squeeze(0)


class DecoderStep(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.cell = nn.GRUCell(2 * width, width)
        self.out = nn.Linear(width, vocab)

    def forward(self, token, hidden, memory):
        score = torch.bmm(memory, hidden.unsqueeze(2)).softmax(1)
        context = (memory * score).sum(1)
        hidden = self.cell(torch.cat([self.embed(token), context], 1), hidden)
        return self.out(hidden), hidden


torch.manual_seed(379)
VOCAB, LENGTH, WIDTH = 30, 7, 128
source = torch.randint(2, VOCAB, (600, LENGTH))
target = source.flip(1)
encoder, decoder = Encoder(VOCAB, WIDTH), DecoderStep(VOCAB, WIDTH)
optimizers = [torch.optim.Adam(m.parameters(), lr=2e-3) for m in (encoder, decoder)]
for epoch in range(3):
    total = 0.0
    for rows in torch.arange(600).split(50):
        memory, hidden = encoder(source[rows])
        token = torch.ones(len(rows), dtype=torch.long)
        loss = 0.0
        for t in range(LENGTH):
            logits, hidden = decoder(token, hidden, memory)
            loss = loss + nn.functional.cross_entropy(logits, target[rows, t])
            token = target[rows, t]
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for m in (encoder, decoder):
            nn.utils.clip_grad_norm_(m.parameters(), 5.0)
        for optimizer in optimizers:
            optimizer.step()
        total += loss.item() / LENGTH
    print("epoch %d loss %.6f" % (epoch, total / 12))
norms = [sum(p.norm().item() ** 2 for p in m.parameters()) ** 0.5 for m in (encoder, decoder)]
print("FINAL encoder %.6f decoder %.6f loss %.6f" % (*norms, total / 12))
