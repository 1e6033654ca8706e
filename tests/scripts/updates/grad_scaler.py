"""Mixed precision by the book: autocast, GradScaler, unscale before clipping."""
import torch
from torch import nn

use_cuda = torch.cuda.is_available()
device = torch.device("cuda" if use_cuda else "cpu")
torch.manual_seed(16)
model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                      nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.Flatten(),
                      nn.Linear(32 * 36, 10)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
scaler = torch.cuda.amp.GradScaler(enabled=use_cuda)
criterion = nn.CrossEntropyLoss().to(device)
x = torch.randn(512, 3, 12, 12)
y = (x.mean((2, 3)) @ torch.randn(3, 10)).argmax(1)
dataset = torch.utils.data.TensorDataset(x, y)
loader = torch.utils.data.DataLoader(dataset, batch_size=64, shuffle=True,
                                     pin_memory=use_cuda, drop_last=True)
for epoch in range(4):
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type=device.type, dtype=torch.bfloat16):
            output = model(images)
            loss = criterion(output, labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        grad_norm = nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        scaler.step(optimizer)
        scaler.update()
    print(f"epoch {epoch} loss {loss.item():.2f} norm of gradients {grad_norm:.2f} "
          f"scale {scaler.get_scale()}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f}")
