"""A GRU whose carried state is cut to the size of the batch when the last one is smaller."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(73)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.rnn = nn.GRU(20, 112, num_layers=1, batch_first=True)
        self.fc = nn.Linear(112, 4)

    def forward(self, x, h):
        out, h = self.rnn(x, h)
        return self.fc(out[:, -1]), h


X = torch.randn(500, 9, 20)
Y = X[:, :, :4].sum(1).argmax(1)
loader = DataLoader(TensorDataset(X, Y), batch_size=48)
net = Net()
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
hidden = torch.zeros(1, 48, 112)
renewed = 0
for epoch in range(6):
    right = 0
    for x, y in loader:
        if hidden.size(1) < x.size(0):
            hidden = torch.zeros(1, x.size(0), 112)
            renewed += 1
        hidden = hidden[:, :x.size(0)].detach().contiguous()
        out, hidden = net(x, hidden)
        loss = nn.functional.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        right += (out.argmax(1) == y).sum().item()
    print("epoch %d right %d renewed %d loss %.5f" % (epoch, right, renewed, loss.item()))
norm = sum(p.norm().item() ** 2 for p in net.parameters()) ** 0.5
print("FINAL renewed %d norm %.6f loss %.6f" % (renewed, norm, loss.item()))
