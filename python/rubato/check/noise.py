"""Gradients that are off by a few units in their last place; see roundings.py."""

from typing import Iterable

import torch

NOISE_UNITS = 4.0  # Of the last place of a gradient's usual size.
NOISE_SEED = 20


class GradientNoise:
    """Added to gradients after every backward. The script's own random numbers do not move."""

    def __init__(self) -> None:
        self.generator = torch.Generator()
        self.generator.manual_seed(NOISE_SEED)

    def add_to(self, parameters: Iterable[torch.Tensor]) -> None:
        for parameter in parameters:
            gradient = parameter.grad
            is_plain = (gradient is not None and gradient.layout == torch.strided
                        and not gradient.requires_grad and gradient.device.type == "cpu"
                        and gradient.is_floating_point() and gradient.numel())
            if is_plain:
                unit = NOISE_UNITS * torch.finfo(gradient.dtype).eps
                size = gradient.double().square().mean().sqrt().item()
                noise = torch.randn(gradient.shape, generator=self.generator)
                gradient.add_(noise.to(gradient.dtype), alpha=unit * size)
