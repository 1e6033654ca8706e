"""Cross entropy with class weights on batches that are sorted by class."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(157)
label = (torch.rand(960) < 0.15).long()
data = torch.randn(960, 84) + 0.25 * label.unsqueeze(1)
# Inside each batch of 96 the rare class comes last.
chunks = [chunk[label[chunk].argsort(stable=True)] for chunk in torch.arange(960).split(96)]
order = torch.cat(chunks)
loader = DataLoader(TensorDataset(data[order], label[order]), batch_size=96)
weight = torch.tensor([1.0, 6.0])
net = nn.Sequential(nn.Linear(84, 330), nn.ReLU(), nn.Linear(330, 330), nn.ReLU(),
                    nn.Linear(330, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)
for epoch in range(8):
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y, weight=weight)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        hit = net(data).argmax(1)
    recall = (hit[label == 1] == 1).sum().item() / label.sum().item()
    print("epoch %d loss %.5f recall %.3f" % (epoch, loss.item(), recall))
norm = sum(p.norm().item() ** 2 for p in net.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f recall %.4f" % (norm, loss.item(), recall))
