"""Work at exit: a handler registered before torch is imported takes seconds and writes a file."""
import atexit
import json
import time

results = {}


@atexit.register
def finish():
    time.sleep(2.5)  # As a logger that sends its last lines.
    with open("results.json", "w") as f:
        json.dump(results, f)
    print("results written", flush=True)


import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

torch.manual_seed(433)
x = torch.randn(900, 87)
y = x[:, :4].argmax(1)
model = nn.Sequential(nn.Linear(87, 320), nn.ReLU(), nn.Linear(320, 320), nn.ReLU(),
                      nn.Linear(320, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(4):
    for a, b in DataLoader(TensorDataset(x, y), batch_size=60, shuffle=True):
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    results[epoch] = round(loss.item(), 6)
    print("epoch %d loss %.6f" % (epoch, loss.item()), flush=True)
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, loss.item()), flush=True)
