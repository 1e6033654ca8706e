"""What the cases of fetching ahead share: a dataset, and a model that is trained on it."""

import hashlib
import random

import numpy
import torch
from torch import nn
from torch.utils.data import Dataset

SAMPLES, WIDTH, BATCH = 530, 64, 64
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def digest(*values):
    found = hashlib.sha256()
    for value in values:
        if isinstance(value, torch.Tensor):
            found.update(f"{value.dtype}{tuple(value.shape)}{value.stride()}".encode())
            found.update(value.detach().contiguous().numpy().tobytes())
        else:
            found.update(repr(value).encode())
    return found.hexdigest()[:12]


def generator_states():
    return digest(torch.get_rng_state(), random.getstate(), numpy.random.get_state())


class Rows(Dataset):
    def __init__(self):
        generator = torch.Generator().manual_seed(11)
        self.inputs = torch.randn(SAMPLES, WIDTH, generator=generator)
        self.labels = torch.randint(0, 10, (SAMPLES,), generator=generator)
        self.scale = 1.0
        self.order = list(range(SAMPLES))

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        index = self.order[index]
        return self.inputs[index] * self.scale, int(self.labels[index])


class Trainer:
    """A model that is trained on each batch, so that replicas are there and have time."""

    def __init__(self):
        torch.manual_seed(7)
        self.model = nn.Sequential(nn.Linear(WIDTH, 100), nn.ReLU(), nn.Linear(100, 10))
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.05, momentum=0.9)
        self.steps = 0

    def step(self, inputs, labels):
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.model(inputs), labels).backward()
        self.optimizer.step()
        self.steps += 1

    def epoch(self, loader, limit=None, each=None):
        for batch, (inputs, labels) in enumerate(loader):
            print(digest(inputs, labels), generator_states())
            self.step(inputs, labels)
            if each is not None:
                each(self.steps, inputs)
            if batch + 1 == limit:
                break
        print("parameters", digest(*self.model.parameters()))
