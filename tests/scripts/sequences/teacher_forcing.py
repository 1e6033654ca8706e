"""Encoder and decoder with attention; forward tosses a coin for teacher forcing at every word."""
import random

import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, vocab, emb, hid):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb)
        self.rnn = nn.GRU(emb, hid, bidirectional=True)
        self.fc = nn.Linear(hid * 2, hid)

    def forward(self, src):
        outputs, hidden = self.rnn(self.embedding(src))
        return outputs, torch.tanh(self.fc(torch.cat((hidden[-2], hidden[-1]), dim=1)))


class Attention(nn.Module):
    def __init__(self, hid):
        super().__init__()
        self.attn = nn.Linear(hid * 3, hid)
        self.v = nn.Linear(hid, 1, bias=False)

    def forward(self, hidden, encoder_outputs):
        hidden = hidden.unsqueeze(1).repeat(1, encoder_outputs.shape[0], 1)
        outputs = encoder_outputs.permute(1, 0, 2)
        energy = torch.tanh(self.attn(torch.cat((hidden, outputs), dim=2)))
        return torch.softmax(self.v(energy).squeeze(2), dim=1)


class Decoder(nn.Module):
    def __init__(self, vocab, emb, hid, attention):
        super().__init__()
        self.attention = attention
        self.embedding = nn.Embedding(vocab, emb)
        self.rnn = nn.GRU(hid * 2 + emb, hid)
        self.fc_out = nn.Linear(hid * 3 + emb, vocab)

    def forward(self, input, hidden, encoder_outputs):
        embedded = self.embedding(input.unsqueeze(0))
        a = self.attention(hidden, encoder_outputs).unsqueeze(1)
        weighted = torch.bmm(a, encoder_outputs.permute(1, 0, 2)).permute(1, 0, 2)
        output, hidden = self.rnn(torch.cat((embedded, weighted), dim=2), hidden.unsqueeze(0))
        prediction = self.fc_out(torch.cat((output[0], weighted[0], embedded[0]), dim=1))
        return prediction, hidden.squeeze(0)


class Seq2Seq(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, src, trg, teacher_forcing_ratio=0.5):
        outputs = []
        encoder_outputs, hidden = self.encoder(src)
        input = trg[0, :]
        for t in range(1, trg.shape[0]):
            output, hidden = self.decoder(input, hidden, encoder_outputs)
            outputs.append(output)
            teacher_force = random.random() < teacher_forcing_ratio
            input = trg[t] if teacher_force else output.argmax(1)
        return torch.stack(outputs)


random.seed(1234)
torch.manual_seed(1234)
model = Seq2Seq(Encoder(40, 32, 64), Decoder(40, 32, 64, Attention(64)))
for name, param in model.named_parameters():
    nn.init.normal_(param.data, mean=0, std=0.1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
criterion = nn.CrossEntropyLoss(ignore_index=0)
src = torch.randint(3, 40, (9, 480))
trg = torch.cat([torch.ones(1, 480, dtype=torch.long), src.flip(0)[:7]])
trg[6:, ::3] = 0
for epoch in range(2):
    model.train()
    epoch_loss = 0
    for i in range(0, 480, 40):
        optimizer.zero_grad()
        output = model(src[:, i:i + 40], trg[:, i:i + 40])
        loss = criterion(output.view(-1, 40), trg[1:, i:i + 40].reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        epoch_loss += loss.item()
    model.eval()
    with torch.no_grad():
        output = model(src[:, :80], trg[:, :80], 0)
    hits = (output.argmax(2) == trg[1:, :80]).sum().item()
    print(f"epoch {epoch} loss {epoch_loss / 12:.6f} hits {hits}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {epoch_loss / 12:.6f}")
