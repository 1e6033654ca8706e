"""A curriculum: batches grow and sequences become longer; the loader is made anew every stage."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(60, 64)
        self.conv = nn.Conv1d(64, 128, 5, padding=2)
        self.out = nn.Linear(128, 6)

    def forward(self, ids):
        h = torch.relu(self.conv(self.embed(ids).transpose(1, 2)))
        return self.out(h.transpose(1, 2))


torch.manual_seed(404)
model = Tagger()
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss(reduction="none")
seen = 0
for stage, (batch, length) in enumerate([(5, 4), (16, 8), (31, 16), (64, 32)]):
    ids = torch.randint(0, 60, (310, length))
    tags = (ids + ids.roll(1, 1)) % 6
    for at, (x, y) in enumerate(DataLoader(TensorDataset(ids, tags), batch, shuffle=True)):
        if at == 20:
            break
        losses = criterion(model(x).reshape(-1, 6), y.reshape(-1)).view(y.shape)
        weight = (losses.detach() < 3.0).to(losses.dtype)
        loss = (losses * weight).sum() / weight.sum().clamp(min=1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += len(x)
    print(f"stage {stage} samples {seen} last batch {tuple(x.shape)} loss {loss.item():.6f}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL norm {norm:.6f} loss {loss.item():.6f}")
