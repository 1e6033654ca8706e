"""Top-1 mixture of experts: an expert that nobody chose has no gradient in that step."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Mixture(nn.Module):
    def __init__(self, width=72, hidden=256, experts=5):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(
            [nn.Sequential(nn.Linear(width, hidden), nn.ReLU(),
                           nn.Linear(hidden, 3)) for _ in range(experts)])

    def forward(self, x):
        weight, chosen = self.gate(x).softmax(1).max(1)
        out = x.new_zeros(len(x), 3)
        for k, expert in enumerate(self.experts):
            rows = (chosen == k).nonzero().squeeze(1)
            if len(rows):
                out = out.index_add(0, rows, expert(x[rows]) * weight[rows].unsqueeze(1))
        return out


torch.manual_seed(331)
x = torch.randn(1024, 72)
y = (x[:, :3] * x[:, 3:4].sign()).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=128, shuffle=True)
model = Mixture()
with torch.no_grad():
    model.gate.bias[4] = -1.0  # Rarely chosen: often by one part of a batch only.
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
without = 0
for epoch in range(8):
    for a, b in loader:
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        without += sum(p.grad is None for p in model.parameters())
        optimizer.step()
    print("epoch %d loss %.6f without gradient %d" % (epoch, loss.item(), without))
norms = [e[0].weight.norm().item() for e in model.experts]
print("FINAL experts", " ".join("%.6f" % n for n in norms), "loss %.6f" % loss.item())
