"""Dies of an exception of its own after some steps: traceback, exit code 1."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Broken(Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, i):
        if i == 777:
            raise ValueError("row 777 is damaged")
        g = torch.Generator().manual_seed(i)
        x = torch.randn(96, generator=g)
        return x, x[:3].argmax()


torch.manual_seed(233)
model = nn.Sequential(nn.Linear(96, 350), nn.ReLU(), nn.Linear(350, 350), nn.ReLU(),
                      nn.Linear(350, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(Broken(), batch_size=16)
for step, (x, y) in enumerate(loader):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 7:
        norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
        print("FINAL so far: step %d norm %.6f loss %.6f" % (step, norm, loss.item()), flush=True)
