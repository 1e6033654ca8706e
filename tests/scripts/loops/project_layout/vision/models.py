"""Models by name."""
from torch import nn

REGISTRY = {}


def register(name):
    def add(function):
        REGISTRY[name] = function
        return function
    return add


class SeparableConv(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.depth = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.point = nn.Conv2d(channels, out, 1)

    def forward(self, x):
        return self.point(self.depth(x))


@register("small")
def small():
    return nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(),
        SeparableConv(12, 24), nn.GroupNorm(4, 24), nn.ReLU(), nn.MaxPool2d(2),
        SeparableConv(24, 24), nn.ReLU(), nn.AdaptiveMaxPool2d(1),
        nn.Flatten(), nn.Linear(24, 4))


def build(name):
    return REGISTRY[name]()
