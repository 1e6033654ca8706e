"""Inputs as tuples, dicts and keywords, a number among them; outputs as a named tuple."""
from collections import namedtuple

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

Output = namedtuple("Output", "score hidden info")


class Pairs(Dataset):
    def __init__(self, n):
        self.image = torch.randn(n, 60)
        self.text = torch.randn(n, 30)
        self.target = (self.image[:, :30] * self.text).sum(1, keepdim=True) / 6

    def __len__(self):
        return len(self.target)

    def __getitem__(self, i):
        return {"views": (self.image[i], self.text[i]), "target": self.target[i], "index": i}


class Fusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = nn.Linear(60, 280)
        self.text = nn.Linear(30, 280)
        self.joint = nn.Sequential(nn.Linear(280, 280), nn.ReLU(), nn.Linear(280, 1))

    def forward(self, batch, *, scale=1.0, mode="product", extra=None):
        image, text = batch["views"]
        a, b = torch.relu(self.image(image)), torch.relu(self.text(text))
        hidden = a * b if mode == "product" else a + b
        if extra is not None:
            hidden = hidden + extra.unsqueeze(1)
        return Output(score=scale * self.joint(hidden), hidden=hidden, info={"mode": mode})


torch.manual_seed(311)
loader = DataLoader(Pairs(960), batch_size=64, shuffle=True)
model = Fusion()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(5):
    for batch in loader:
        extra = batch["index"].to(batch["target"].dtype) / 1e4
        out = model(batch, scale=0.5 + 0.1 * epoch, mode="product" if epoch else "sum", extra=extra)
        loss = nn.functional.mse_loss(out.score, batch["target"]) + 1e-4 * out.hidden.abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, out.info["mode"], "loss %.6f" % loss.item())
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print("FINAL norm %.6f loss %.6f" % (norm, loss.item()))
