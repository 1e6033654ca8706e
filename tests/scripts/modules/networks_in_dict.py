"""Networks live in plain dicts and lists of an agent that is no module at all."""
import itertools

import torch
from torch import nn


class Agent:
    def __init__(self):
        self.nets = {"encoder": nn.Sequential(nn.Linear(36, 256), nn.ReLU()),
                     "experts": [nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 3))
                                 for _ in range(3)],
                     "gate": nn.Linear(256, 3)}
        self.optims = {name: torch.optim.SGD(self.parameters_of(name), lr=0.05, momentum=0.5)
                       for name in self.nets}

    def parameters_of(self, name):
        nets = self.nets[name]
        if isinstance(nets, list):
            return itertools.chain(*(net.parameters() for net in nets))
        return nets.parameters()

    def __call__(self, x):
        h = self.nets["encoder"](x)
        weights = self.nets["gate"](h).softmax(-1)
        outputs = torch.stack([expert(h) for expert in self.nets["experts"]], 1)
        return (weights.unsqueeze(-1) * outputs).sum(1), weights

    def update(self, x, y):
        out, weights = self(x)
        balance = (weights.mean(0) * weights.mean(0).log()).sum()
        loss = nn.functional.mse_loss(out, y) + 0.05 * balance
        for optim in self.optims.values():
            optim.zero_grad()
        loss.backward()
        for name, optim in self.optims.items():
            if name != "gate" or loss.item() < 10:
                optim.step()
        return loss.item()


torch.manual_seed(91)
x = torch.randn(900, 36)
y = torch.where(x[:, :1] > 0, x[:, 1:4], x[:, 4:7] * x[:, 7:8])
agent = Agent()
for epoch in range(4):
    total = sum(agent.update(x[i::15], y[i::15]) for i in range(15))
    print(f"epoch {epoch}: {total / 15:.6f}")
everything = [p for name in agent.nets for p in agent.parameters_of(name)]
norm = sum(p.norm().item() ** 2 for p in everything) ** 0.5
print(f"FINAL norm {norm:.6f} loss {total / 15:.6f}")
