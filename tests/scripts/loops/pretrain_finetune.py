"""Learning-rate search on a copy, pretraining as an autoencoder, then a new head is fine-tuned."""
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(353)
latent = torch.randn(900, 10)
x = torch.tanh(latent @ torch.randn(10, 90)) + 0.1 * torch.randn(900, 90)
y = (latent[:, 0] > 0).long() + 2 * (latent[:, 1] > 0).long()
data = DataLoader(TensorDataset(x, y), batch_size=60, shuffle=True)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(90, 300), nn.ReLU(), nn.Linear(300, 40))
        self.decoder = nn.Sequential(nn.ReLU(), nn.Linear(40, 300), nn.ReLU(), nn.Linear(300, 90))

    def forward(self, x):
        code = self.encoder(x)
        return code, self.decoder(code)


def find_rate(model, rates=(1e-5, 1e-3, 3e-2)):
    results = {}
    for rate in rates:
        trial = copy.deepcopy(model)
        optimizer = torch.optim.SGD(trial.parameters(), lr=rate, momentum=0.9)
        for i, (a, _) in zip(range(8), data):
            loss = nn.functional.mse_loss(trial(a)[1], a)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        results[rate] = loss.item()
        print(f"rate {rate:g}: {loss.item():.6f}")
    return min(results, key=results.get)


auto = AutoEncoder()
rate = find_rate(auto)
optimizer = torch.optim.SGD(auto.parameters(), lr=rate, momentum=0.9)
for epoch in range(2):
    for a, _ in data:
        loss = nn.functional.mse_loss(auto(a)[1], a)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"pretraining {epoch}: {loss.item():.6f}")

model = nn.Sequential(auto.encoder, nn.ReLU(), nn.Linear(40, 4))
for p in model[0].parameters():
    p.requires_grad_(False)
optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=5e-3)
for epoch in range(3):
    if epoch == 1:
        model[0].requires_grad_(True)
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    for a, b in data:
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"fine-tuning {epoch}: {loss.item():.6f}")
norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
print(f"FINAL rate {rate:g} norm {norm:.6f} loss {loss.item():.6f}")
