"""A beginner's forward: prints shapes now and then, and a log file is written inside it."""
import torch
from torch import nn

torch.manual_seed(29)
log = open("forward.log", "w")
DEBUG = True


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(30, 200)
        self.fc2 = nn.Linear(200, 100)
        self.fc3 = nn.Linear(100, 2)

    def forward(self, x):
        if DEBUG:
            print("input", x.shape)
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        log.write("hidden %s\n" % (tuple(x.shape),))
        log.flush()
        return self.fc3(x)


x = torch.randn(700, 30)
y = (x[:, 0] * x[:, 1] > 0).long()
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for step in range(50):
    rows = torch.arange(step * 70, step * 70 + 70) % 700
    loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
log.close()
norm = sum(p.norm().item() ** 2 for p in net.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, loss.item()))
