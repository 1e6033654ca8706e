"""Sequence-first recurrent network: the batch is dimension 1 of inputs, outputs and state."""
import torch
from torch import nn
from torch.nn.utils import rnn


class Speaker(nn.Module):
    def __init__(self, features=24, hidden=112, speakers=6):
        super().__init__()
        self.lstm = nn.LSTM(features, hidden, num_layers=1)
        self.attention = nn.Linear(hidden, 1, bias=False)
        self.out = nn.Linear(hidden, speakers)

    def forward(self, frames):
        states, _ = self.lstm(frames)            # time, batch, hidden
        weight = self.attention(states).softmax(0)
        return self.out((weight * states).sum(0))


def batches(data, labels, size):
    for rows in torch.randperm(len(labels)).split(size):
        yield rnn.pad_sequence([data[i] for i in rows]), labels[rows]


def main():
    torch.manual_seed(307)
    labels = torch.randint(0, 6, (330,))
    voices = torch.randn(6, 24)
    data = [0.7 * voices[k] + torch.randn(14, 24) for k in labels]
    model = Speaker()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(5):
        hits = total = 0
        for frames, target in batches(data, labels, 33):
            out = model(frames)
            loss = nn.functional.cross_entropy(out, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hits += (out.argmax(1) == target).sum().item()
            total += loss.item()
        print(f"epoch {epoch} loss {total / 10:.5f} hits {hits}")
    norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
    print(f"FINAL norm {norm:.6f} loss {total / 10:.6f}")


if __name__ == "__main__":
    main()
