"""Batches by next(iterator); a new iterator is made when the old one is exhausted."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build_model():
    return nn.Sequential(nn.Linear(64, 320), nn.Tanh(), nn.Linear(320, 320), nn.Tanh(),
                         nn.Linear(320, 3))


def main(total=85):
    torch.manual_seed(89)
    x = torch.randn(700, 64)
    y = (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 0.5).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = build_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    iterator = iter(loader)
    restarts = 0
    losses = []
    for it in range(total):
        try:
            inputs, labels = next(iterator)
        except StopIteration:
            iterator = iter(loader)
            restarts += 1
            inputs, labels = next(iterator)
        optimizer.zero_grad()
        loss = nn.functional.nll_loss(model(inputs).log_softmax(1), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if (it + 1) % 17 == 0:
            print(f"iteration {it + 1}: {sum(losses[-17:]) / 17:.6f}")
    norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
    print(f"FINAL restarts {restarts} norm {norm:.6f} mean {sum(losses) / total:.6f}")


main()
