"""BatchNorm and dropout; the loader is made inside the epoch loop."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(31)
data = torch.randn(1200, 80) * 2 + 1
label = (data[:, :6].sum(1) > 6).long()
held_out, held_label = data[1000:], label[1000:]
data, label = data[:1000], label[:1000]

net = nn.Sequential(
    nn.Linear(80, 320), nn.BatchNorm1d(320), nn.ReLU(), nn.Dropout(0.3),
    nn.Linear(320, 320), nn.BatchNorm1d(320), nn.ReLU(), nn.Dropout(0.3),
    nn.Linear(320, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)

for epoch in range(5):
    net.train()
    for x, y in DataLoader(TensorDataset(data, label), batch_size=50, shuffle=True):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        out = net(held_out)
        val = nn.functional.cross_entropy(out, held_label).item()
        acc = (out.argmax(1) == held_label).double().mean().item()
    print("epoch %d val %.5f acc %.3f" % (epoch, val, acc))

norm = sum(p.norm().item() ** 2 for p in net.parameters()) ** 0.5
print("FINAL tracked %d mean %.6f norm %.6f val %.6f"
      % (net[1].num_batches_tracked.item(), net[1].running_mean.mean().item(), norm, val))
