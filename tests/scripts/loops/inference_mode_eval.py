"""Long evaluation under inference_mode with a confusion matrix, between short training epochs."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Meter:
    def __init__(self, classes):
        self.table = torch.zeros(classes, classes, dtype=torch.long)

    def update(self, predicted, label):
        for p, t in zip(predicted.tolist(), label.tolist()):
            self.table[t, p] += 1

    def recall(self):
        return (self.table.diag().double() / self.table.sum(1).clamp(min=1)).tolist()


@torch.inference_mode()
def evaluate(model, loader):
    model.eval()
    meter, total = Meter(3), 0.0
    for x, y in loader:
        out = model(x)
        meter.update(out.argmax(1), y)
        total += nn.functional.cross_entropy(out, y, reduction="sum").item()
    model.train()
    return meter, total / len(loader.dataset)


torch.manual_seed(401)
x = torch.randn(1600, 80)
y = (x[:, :9].reshape(-1, 3, 3).sum(2)).argmax(1)
train = DataLoader(TensorDataset(x[:500], y[:500]), batch_size=50, shuffle=True)
test = DataLoader(TensorDataset(x[500:], y[500:]), batch_size=110)
model = nn.Sequential(nn.Linear(80, 350), nn.ReLU(), nn.Linear(350, 350), nn.ReLU(),
                      nn.Linear(350, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
for epoch in range(5):
    for a, b in train:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(a), b)
        loss.backward()
        optimizer.step()
    meter, value = evaluate(model, test)
    print("epoch %d loss %.6f recall %s" % (epoch, value, ["%.3f" % r for r in meter.recall()]))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, value))
