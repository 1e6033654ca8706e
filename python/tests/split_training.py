"""What the cases of shared calls have in common: a small model, its batches, its training."""

import torch
from torch import nn
from torch.nn import functional

CASES = {}
BATCH, WIDTH, STEPS = 24, 10, 30


def case(function):
    CASES[function.__name__] = function
    return function


def batches(steps=STEPS):
    generator = torch.Generator().manual_seed(11)
    for _ in range(steps):
        inputs = torch.randn(BATCH, WIDTH, generator=generator)
        yield inputs, inputs.sin().sum(1, keepdim=True)


class Body(nn.Module):
    """A perceptron."""

    def __init__(self, *layers):
        super().__init__()
        torch.manual_seed(7)
        self.layers = nn.Sequential(
            nn.Linear(WIDTH, 16), *layers, nn.Tanh(), nn.LayerNorm(16), nn.Linear(16, 1))

    def forward(self, inputs):
        return self.layers(inputs)


def train(model, *, steps=STEPS, optimizer=None, before=None, after=None):
    """The losses of all steps. `before` and `after` are called with the number of the step."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for step, (inputs, targets) in enumerate(batches(steps)):
        if before:
            before(step)
        optimizer.zero_grad()
        loss = functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if after:
            after(step)
    return torch.tensor(losses)


def result(model, losses, **more):
    state = {f"state {name}": value.clone() for name, value in model.state_dict().items()}
    return {**state, "losses": losses, **more}
