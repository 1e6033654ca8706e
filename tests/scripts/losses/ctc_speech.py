"""Speech in small: a spectrogram goes in, CTC loss with lengths; time is the first dimension."""
import torch
from torch import nn


class Acoustic(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(20, 96, 5, stride=2, padding=2)
        self.rnn = nn.GRU(96, 64, bidirectional=True)
        self.fc = nn.Linear(128, 12)

    def forward(self, spectrogram, lengths):
        h = torch.relu(self.conv(spectrogram)).permute(2, 0, 1)
        h, _ = self.rnn(h)
        return self.fc(h).log_softmax(-1), torch.div(lengths + 1, 2, rounding_mode="floor")


torch.manual_seed(19)
patterns = torch.randn(12, 20, 4)
waves, labels = [], []
for _ in range(240):
    word = torch.randint(1, 12, (int(torch.randint(2, 6, (1,))),))
    waves.append(torch.cat([patterns[c] for c in word], 1))
    labels.append(word)
model = Acoustic()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
ctc = nn.CTCLoss(blank=0, zero_infinity=True)
for epoch in range(4):
    order = torch.randperm(240).tolist()
    total = 0.0
    for at in range(0, 240, 24):
        chosen = order[at:at + 24]
        lengths = torch.tensor([waves[i].shape[1] for i in chosen])
        batch = torch.zeros(24, 20, 24)
        for row, i in enumerate(chosen):
            batch[row, :, :lengths[row]] = waves[i]
        log_probs, out_lengths = model(batch, lengths)
        loss = ctc(log_probs, torch.cat([labels[i] for i in chosen]), out_lengths,
                   torch.tensor([len(labels[i]) for i in chosen]))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 10:.6f}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f}")
