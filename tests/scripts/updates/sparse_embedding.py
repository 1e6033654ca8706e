"""nn.Embedding(sparse=True) with SparseAdam beside a dense optimizer: skip-gram words."""
import torch
from torch import nn


class SkipGram(nn.Module):
    def __init__(self, words=2000, width=128):
        super().__init__()
        self.center = nn.Embedding(words, width, sparse=True)
        self.context = nn.Embedding(words, width, sparse=True)
        self.mix = nn.Sequential(nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, width))
        nn.init.uniform_(self.context.weight, -0.1, 0.1)

    def forward(self, center, context, negatives):
        v = self.mix(self.center(center))
        positive = (v * self.context(context)).sum(1)
        negative = torch.bmm(self.context(negatives), v.unsqueeze(2)).squeeze(2)
        return positive, negative


torch.manual_seed(281)
model = SkipGram()
sparse = torch.optim.SparseAdam(list(model.center.parameters()) + list(model.context.parameters()),
                                lr=5e-3)
dense = torch.optim.Adam(model.mix.parameters(), lr=1e-3)
centers = torch.randint(0, 2000, (6400,))
contexts = (centers + torch.randint(1, 4, (6400,))) % 2000
for step in range(60):
    rows = torch.arange(step * 100, step * 100 + 100)
    negatives = torch.randint(0, 2000, (100, 5))
    positive, negative = model(centers[rows], contexts[rows], negatives)
    loss = -(nn.functional.logsigmoid(positive).mean() + nn.functional.logsigmoid(-negative).mean())
    sparse.zero_grad()
    dense.zero_grad()
    loss.backward()
    sparse.step()
    dense.step()
    if step % 15 == 14:
        print("step %d loss %.6f" % (step, loss.item()))
norms = [p.norm().item() for p in (model.center.weight, model.context.weight, model.mix[0].weight)]
print("FINAL norms %.6f %.6f %.6f loss %.6f" % (*norms, loss.item()))
