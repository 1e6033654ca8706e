"""Graphs in batches: an object with node features, edge_index and the graph of each node."""
import torch
from torch import nn
from torch.utils.data import DataLoader


class Data:
    def __init__(self, x, edge_index, y, batch=None):
        self.x, self.edge_index, self.y, self.batch = x, edge_index, y, batch

    @staticmethod
    def collate(graphs):
        offset, xs, edges, ids = 0, [], [], []
        for i, g in enumerate(graphs):
            xs.append(g.x)
            edges.append(g.edge_index + offset)
            ids.append(torch.full((len(g.x),), i))
            offset += len(g.x)
        return Data(torch.cat(xs), torch.cat(edges, 1), torch.cat([g.y for g in graphs]),
                    torch.cat(ids))


class GINConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(nn.Linear(i, o), nn.ReLU(), nn.Linear(o, o))

    def forward(self, x, edge_index):
        src, dst = edge_index
        agg = torch.zeros_like(x).index_add_(0, dst, x[src])
        return self.mlp((1 + self.eps) * x + agg)


class GIN(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([GINConv(12, 96), GINConv(96, 96)])
        self.out = nn.Linear(96, 2)

    def forward(self, data):
        x = data.x
        for conv in self.convs:
            x = torch.relu(conv(x, data.edge_index))
        count = int(data.batch.max()) + 1
        pooled = torch.zeros(count, x.shape[1], dtype=x.dtype).index_add_(0, data.batch, x)
        return self.out(pooled / torch.bincount(data.batch, minlength=count)[:, None])


class NodeNet(nn.Module):
    """On one large graph, in the plain way: features and edges as tensors."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = GINConv(12, 64), GINConv(64, 2)

    def forward(self, x, edge_index):
        return self.conv2(torch.relu(self.conv1(x, edge_index)), edge_index)


torch.manual_seed(21)
graphs = []
for _ in range(320):
    n = int(torch.randint(6, 15, (1,)))
    m = int(torch.randint(n, 3 * n, (1,)))
    edges = torch.randint(0, n, (2, m))
    graphs.append(Data(torch.randn(n, 12), edges, torch.tensor([int(m > 2 * n)])))
loader = DataLoader(graphs, batch_size=32, shuffle=True, collate_fn=Data.collate)
model = GIN()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for epoch in range(3):
    total = 0.0
    for data in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(data), data.y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(data.y)
    print(f"epoch {epoch} loss {total / 320:.6f}")
whole = Data.collate(graphs)
node_net = NodeNet()
optimizer = torch.optim.SGD(node_net.parameters(), lr=0.02)
target = (torch.bincount(whole.edge_index[1], minlength=len(whole.x)) > 2).long()
train_mask = torch.rand(len(whole.x)) < 0.6
for epoch in range(20):
    optimizer.zero_grad()
    out = node_net(whole.x, whole.edge_index)
    node_loss = nn.functional.cross_entropy(out[train_mask], target[train_mask])
    node_loss.backward()
    optimizer.step()
print(f"nodes {node_loss.item():.6f}")
norm = sum(p.norm().item() ** 2 for m in (model, node_net) for p in m.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f}")
