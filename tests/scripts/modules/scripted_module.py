"""A model compiled with torch.jit.script, saved as TorchScript and loaded again."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Gate(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.a = nn.Linear(width, width)
        self.b = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.a(x)) * torch.tanh(self.b(x)) + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(74, 220)
        self.gates = nn.ModuleList([Gate(220), Gate(220)])
        self.out = nn.Linear(220, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.inp(x))
        for gate in self.gates:
            x = gate(x)
        return self.out(x)


torch.manual_seed(263)
x = torch.randn(960, 74)
y = x[:, :4].argmax(1)
model = torch.jit.script(Net())
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
for epoch in range(4):
    for a, b in loader:
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch %d loss %.6f" % (epoch, loss.item()))
model.save("scripted.ts")
with torch.no_grad():
    again = nn.functional.cross_entropy(torch.jit.load("scripted.ts")(x), y).item()
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, again))
