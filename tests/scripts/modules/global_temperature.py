"""forward reads a global dict and a closure that the training loop changes."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SETTINGS = {"temperature": 4.0}


def make_net(schedule):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(73, 310)
            self.b = nn.Linear(310, 310)
            self.c = nn.Linear(310, 4)
            self.gain = 1.0

        def forward(self, x):
            h = torch.relu(self.b(torch.relu(self.a(x)))) * self.gain
            return self.c(h) / SETTINGS["temperature"] + schedule[0]

    return Net()


torch.manual_seed(383)
x = torch.randn(900, 73)
y = (x[:, :4] + 0.3 * x[:, 4:8]).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=60)
offset = [0.0]
model = make_net(offset)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(5):
    SETTINGS["temperature"] = 4.0 * 0.6 ** epoch
    offset[0] = 0.01 * epoch
    for i, (a, b) in enumerate(loader):
        model.gain = 1.0 + 0.01 * i
        loss = nn.functional.multi_margin_loss(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch %d temperature %.4f loss %.6f" % (epoch, SETTINGS["temperature"], loss.item()))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, loss.item()))
