"""Two losses of one forward pass, each with its own backward(); retain_graph=True for the first."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(251)


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(86, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU())
        self.mean = nn.Linear(300, 1)
        self.kind = nn.Linear(300, 3)

    def forward(self, x):
        h = self.body(x)
        return self.mean(h), self.kind(h)


x = torch.randn(880, 86)
y = x[:, :4].sum(1, keepdim=True)
k = (x[:, 4:7]).argmax(1)
loader = DataLoader(TensorDataset(x, y, k), batch_size=80)
model = TwoHeads()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.8)
for epoch in range(4):
    for a, b, c in loader:
        mean, kind = model(a)
        optimizer.zero_grad()
        first = nn.functional.mse_loss(mean, b)
        first.backward(retain_graph=True)
        share = model.body[0].weight.grad.norm().item()  # The part of the first loss.
        second = nn.functional.cross_entropy(kind, c)
        second.backward()
        optimizer.step()
    print("epoch %d regression %.6f kind %.6f share %.6f" % (epoch, first.item(), second.item(),
                                                             share))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, first.item() + second.item()))
