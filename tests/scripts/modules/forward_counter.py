"""forward counts its calls, collects values in a list and changes its temperature by the count."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

history = []


class Annealed(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(69, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU())
        self.out = nn.Linear(300, 4)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        temperature = max(1.0, 3.0 * 0.98 ** self.calls)
        logits = self.out(self.body(x)) / temperature
        history.append(round(logits.std().item(), 6))
        return logits


torch.manual_seed(337)
x = torch.randn(900, 69)
y = (x[:, :8].reshape(-1, 4, 2).sum(2)).argmax(1)
model = Annealed()
optimizer = torch.optim.Adam(model.parameters(), lr=7e-4)
for epoch in range(5):
    for a, b in DataLoader(TensorDataset(x, y), batch_size=64):
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch %d calls %d values %d last %.4f loss %.6f"
          % (epoch, model.calls, len(history), history[-1], loss.item()))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL calls %d norm %.6f loss %.6f" % (model.calls, norm, loss.item()))
