"""The loop ends as soon as a smoothed training loss is below a limit."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(173)
x = torch.randn(1280, 99)
y = (x[:, :3].sum(1, keepdim=True) > 0).to(x.dtype)
loader = DataLoader(TensorDataset(x, y), batch_size=80, shuffle=True)
model = nn.Sequential(nn.Linear(99, 320), nn.ReLU(), nn.Linear(320, 320), nn.ReLU(),
                      nn.Linear(320, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)


def train():
    smooth, steps = None, 0
    for epoch in range(100):
        for a, b in loader:
            optimizer.zero_grad()
            loss = criterion(model(a), b)
            loss.backward()
            optimizer.step()
            steps += 1
            smooth = loss.item() if smooth is None else 0.9 * smooth + 0.1 * loss.item()
            if smooth < 0.36:
                return steps, smooth
        print(f"epoch {epoch} steps {steps} smooth loss {smooth:.6f}")


steps, smooth = train()
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL steps {steps} norm {norm:.6f} smooth {smooth:.6f}")
