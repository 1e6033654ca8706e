"""Wide & deep click prediction: many embeddings, a wide linear part, numbers and categories."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

SIZES = [50, 200, 1000, 30, 400, 12]


class Clicks(Dataset):
    def __init__(self, n):
        self.cat = torch.stack([torch.randint(0, s, (n,)) for s in SIZES], 1)
        self.num = torch.randn(n, 10)
        score = ((self.cat[:, 0] % 5) - 2.0) + self.num[:, 0] * self.num[:, 1]
        self.y = (score + 0.5 * torch.randn(n) > 0).to(self.num.dtype)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.cat[i], self.num[i], self.y[i]


class WideDeep(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.embeddings = nn.ModuleList([nn.Embedding(s, width) for s in SIZES])
        self.wide = nn.ModuleList([nn.Embedding(s, 1) for s in SIZES])
        self.deep = nn.Sequential(nn.Linear(width * len(SIZES) + 10, 256), nn.ReLU(),
                                  nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, cat, num):
        deep = torch.cat([e(cat[:, i]) for i, e in enumerate(self.embeddings)] + [num], 1)
        wide = sum(e(cat[:, i]) for i, e in enumerate(self.wide))
        return (self.deep(deep) + wide).squeeze(1)


if __name__ == "__main__":
    torch.manual_seed(313)
    loader = DataLoader(Clicks(4000), batch_size=200, shuffle=True)
    model = WideDeep()
    wide = torch.optim.Adagrad(model.wide.parameters(), lr=0.02)
    deep = torch.optim.Adam([p for n, p in model.named_parameters() if not n.startswith("wide")],
                            lr=1e-3)
    loss_fn = nn.BCEWithLogitsLoss()
    for epoch in range(3):
        total, n = 0.0, 0
        for cat, num, y in loader:
            out = model(cat, num)
            loss = loss_fn(out, y)
            wide.zero_grad()
            deep.zero_grad()
            loss.backward()
            wide.step()
            deep.step()
            total += loss.item() * len(y)
            n += len(y)
        print(f"epoch {epoch}: log loss {total / n:.6f}")
    norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
    print(f"FINAL norm {norm:.6f} loss {total / n:.6f}")
