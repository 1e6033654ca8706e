"""weight_norm, spectral_norm and pruning: hooks before forward make the weights."""
import torch
from torch import nn
from torch.nn.utils import prune
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(367)
x = torch.randn(900, 84)
y = (x[:, :6] @ torch.randn(6, 3)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=60)
model = nn.Sequential(
    nn.utils.weight_norm(nn.Linear(84, 300)), nn.ReLU(),
    nn.utils.spectral_norm(nn.Linear(300, 300)), nn.ReLU(), nn.Linear(300, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for epoch in range(5):
    if epoch == 2:
        prune.l1_unstructured(model[4], "weight", amount=0.5)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for a, b in loader:
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    zeros = (model[4].weight == 0).sum().item()
    print("epoch %d loss %.6f zeros %d" % (epoch, loss.item(), zeros))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f zeros %d" % (norm, loss.item(), zeros))
