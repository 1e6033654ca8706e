"""A recurrent cell called in a Python loop by the script; the loss is taken at the end."""
import torch
from torch import nn

torch.manual_seed(431)
BATCH, TIME, WIDTH = 64, 8, 160


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(20, WIDTH)
        self.cell = nn.LSTMCell(WIDTH, WIDTH)

    def forward(self, x, state):
        h, c = self.cell(torch.relu(self.inp(x)), state)
        return h, (h, c)


cell, readout = Memory(), nn.Linear(WIDTH, 20)
parameters = list(cell.parameters()) + list(readout.parameters())
optimizer = torch.optim.RMSprop(parameters, lr=5e-4, alpha=0.95)
for step in range(45):
    x = torch.randn(BATCH, TIME, 20)
    state = (torch.zeros(BATCH, WIDTH), torch.zeros(BATCH, WIDTH))
    for t in range(TIME):
        h, state = cell(x[:, t], state)
    loss = nn.functional.mse_loss(readout(h), x.mean(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 14:
        print("step %d loss %.6f" % (step, loss.item()))
norm = sum(p.norm().item() ** 2 for p in parameters) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, loss.item()))
