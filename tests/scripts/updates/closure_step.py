"""optimizer.step(closure) with Adam, as frameworks around PyTorch do it."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(80, 320), nn.ReLU(), nn.Linear(320, 320), nn.ReLU(),
                                 nn.Linear(320, 4))
        self.logged = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x), y)
        self.logged.append(loss.item())
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=5e-4)


def fit(module, loader, epochs):
    optimizer = module.configure_optimizers()
    for epoch in range(epochs):
        for index, batch in enumerate(loader):
            def closure():
                optimizer.zero_grad()
                loss = module.training_step(batch, index)
                loss.backward()
                return loss

            optimizer.step(closure)
        print(f"epoch {epoch}: {sum(module.logged[-len(loader):]) / len(loader):.6f}")


torch.manual_seed(103)
data = torch.randn(900, 80)
label = (data[:, :4] + 0.5 * data[:, 4:8]).argmax(1)
module = LitModule()
fit(module, DataLoader(TensorDataset(data, label), batch_size=60), 5)
norm = sum(p.norm().item() ** 2 for p in module.parameters()) ** 0.5
print(f"FINAL closures {len(module.logged)} norm {norm:.6f} loss {module.logged[-1]:.6f}")
