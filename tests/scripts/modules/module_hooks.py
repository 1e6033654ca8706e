"""Forward hooks that record activations, a backward hook, and a tensor hook on a weight."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(257)
x = torch.randn(900, 76)
y = (x[:, :5].prod(1) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=60)
model = nn.Sequential(nn.Linear(76, 310), nn.ReLU(), nn.Linear(310, 310), nn.ReLU(),
                      nn.Linear(310, 2))

activations, gradients, calls = [], [], {"weight": 0}
model[1].register_forward_hook(lambda m, i, o: activations.append((len(o),
                                                                   o.detach().mean().item())))
model[4].register_full_backward_hook(lambda m, gi, go: gradients.append(go[0].norm().item()))


def halve(grad):
    calls["weight"] += 1
    return grad * 0.5


model[0].weight.register_hook(halve)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(4):
    for a, b in loader:
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch %d loss %.6f activation %.6f of %d gradient %.6f"
          % (epoch, loss.item(), activations[-1][1], activations[-1][0], gradients[-1]))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f hooks %d %d %d loss %.6f"
      % (norm, len(activations), len(gradients), calls["weight"], loss.item()))
