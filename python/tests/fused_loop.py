"""A small training loop that notes all it has seen, and the list of cases made of such loops."""

import hashlib

import torch
from torch import nn

STEPS = 12
SAMPLES = 256
BATCH = 32
LOSS = nn.CrossEntropyLoss()
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def digest(*values):
    sha = hashlib.sha256()
    for value in values:
        if isinstance(value, torch.Tensor):
            sha.update(str(value.dtype).encode() + value.detach().contiguous().numpy().tobytes())
        else:
            sha.update(repr(value).encode())
    return sha.hexdigest()[:16]


class Loop:
    """A model, its optimizer and batches; `seen` is what the case compares besides the end."""

    def __init__(self, optimizer=None, model=None, dtype=torch.float32):
        torch.manual_seed(7)
        self.images = torch.randn(SAMPLES, 64, dtype=dtype)
        self.labels = torch.randint(0, 10, (SAMPLES,))
        self.model = model if model is not None else network().to(dtype)
        self.optimizer = (optimizer or nesterov)(self.model.parameters())
        self.seen = []

    def batches(self, steps=STEPS):
        for step in range(1, steps + 1):
            rows = torch.randperm(SAMPLES)[:BATCH]
            yield step, self.images[rows], self.labels[rows]

    def loss(self, images, labels):
        return LOSS(self.model(images), labels)

    def train(self, before_step=None, after_step=None, steps=STEPS, set_to_none=False):
        for step, images, labels in self.batches(steps):
            self.optimizer.zero_grad(set_to_none=set_to_none)
            self.loss(images, labels).backward()
            if before_step:
                before_step(step)
            self.optimizer.step()
            if after_step:
                after_step(step)
        return self

    def see(self, *values):
        self.seen.append(digest(*values))

    def result(self):
        state = self.optimizer.state_dict()
        tensors = [value for entry in state["state"].values() for value in entry.values()]
        gradients = [parameter.grad for parameter in self.model.parameters()]
        return [*self.seen, digest(*self.model.parameters()), digest(*tensors),
                digest(state["param_groups"]), digest(*gradients), digest(torch.get_rng_state())]


def network():
    return nn.Sequential(nn.Linear(64, 300), nn.ReLU(), nn.Dropout(0.2), nn.Linear(300, 200),
                         nn.ReLU(), nn.Linear(200, 10))


def nesterov(parameters):
    return torch.optim.SGD(parameters, 0.05, momentum=0.9, weight_decay=1e-3, nesterov=True)


def adam(parameters):
    return torch.optim.Adam(parameters, 1e-3, weight_decay=0.01)


def adamw(parameters):
    return torch.optim.AdamW(parameters, 1e-3)
