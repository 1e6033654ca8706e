"""Mixed precision as written for a GPU but run on the CPU: bf16 autocast, a disabled GradScaler."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(41)
x = torch.randn(1280, 128)
y = (x[:, :16].sum(1) / 4).long().clamp(-1, 1) + 1
loader = DataLoader(TensorDataset(x, y), batch_size=128)
model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                      nn.Linear(256, 3))
model.to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
scaler = torch.cuda.amp.GradScaler(enabled=(device == "cuda"))

for epoch in range(4):
    total = 0.0
    for inputs, labels in loader:
        inputs, labels = inputs.to(device), labels.to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type=device, dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(inputs), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        scaler.step(optimizer)
        scaler.update()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.4f}")

with torch.no_grad():
    out = model(x)
accuracy = (out.argmax(1) == y).sum().item() / len(y)
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
loss = nn.functional.cross_entropy(out, y).item()
print(f"FINAL norm {norm:.6f} loss {loss:.6f} accuracy {accuracy:.4f}")
