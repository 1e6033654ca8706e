"""Truncated backpropagation: the LSTM's state is carried from one batch to the next."""
import torch
from torch import nn

torch.manual_seed(71)
STREAMS, WINDOW = 24, 12


def series(length):
    t = torch.arange(length) * 0.12
    phase = torch.rand(STREAMS, 1) * 6.28
    speed = 0.5 + torch.rand(STREAMS, 1)
    return torch.sin(t * speed + phase) + 0.05 * torch.randn(STREAMS, length)


class Predictor(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        y, state = self.lstm(x, state)
        return self.out(y), state


data = series(WINDOW * 30 + 1).unsqueeze(2)
model = Predictor()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(3):
    state, total = None, 0.0
    for start in range(0, data.shape[1] - WINDOW, WINDOW):
        x = data[:, start:start + WINDOW]
        y = data[:, start + 1:start + WINDOW + 1]
        if state is not None:
            state = tuple(s.detach() for s in state)
        out, state = model(x, state)
        loss = nn.functional.mse_loss(out, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 30:.6f} state {state[0].abs().mean().item():.6f}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {total / 30:.6f} cell {state[1].norm().item():.6f}")
