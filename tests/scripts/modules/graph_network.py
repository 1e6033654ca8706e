"""A graph convolution: the batch is one graph, rows depend on each other, nothing can be split."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(211)
NODES, CLASSES = 300, 4
labels = torch.randint(0, CLASSES, (NODES,))
features = torch.randn(NODES, 120) + 0.3 * F.one_hot(labels, 120)
same = labels.unsqueeze(0) == labels.unsqueeze(1)
edges = torch.rand(NODES, NODES) < torch.where(same, torch.tensor(0.05), torch.tensor(0.01))
adjacency = (edges | edges.t() | torch.eye(NODES, dtype=torch.bool)).to(features.dtype)
degree = adjacency.sum(1)
adjacency = adjacency / (degree.unsqueeze(0) * degree.unsqueeze(1)).sqrt()


class GCN(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.first = nn.Linear(120, width)
        self.second = nn.Linear(width, width)
        self.third = nn.Linear(width, CLASSES)

    def forward(self, x, adj):
        x = torch.relu(adj @ self.first(x))
        x = torch.relu(adj @ self.second(x))
        return adj @ self.third(x)


train_mask = torch.arange(NODES) < 200
model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, weight_decay=5e-4)
for epoch in range(60):
    model.train()
    optimizer.zero_grad()
    out = model(features, adjacency)
    loss = F.cross_entropy(out[train_mask], labels[train_mask])
    loss.backward()
    optimizer.step()
    if epoch % 15 == 14:
        model.eval()
        with torch.no_grad():
            hit = model(features, adjacency).argmax(1)[~train_mask] == labels[~train_mask]
        print("epoch %d loss %.6f accuracy %.3f" % (epoch, loss.item(), hit.sum().item() / 100))
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, loss.item()))
