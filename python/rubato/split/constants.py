"""Constants in place of random numbers, so that a whole and its parts can be compared."""

from typing import Any, List, Optional, Sequence

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Constants(TorchDispatchMode):
    """Replaces random numbers by constants, and notices how many there were."""

    drew = False
    draws: List[int] = []  # How many at a time, since somebody emptied it.

    @staticmethod
    def note(result: torch.Tensor) -> None:
        Constants.drew = True
        Constants.draws.append(result.numel())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__.partition(".")[0]
        if name == "native_dropout":
            self.note(args[0])
            return args[0].clone(), torch.ones_like(args[0], dtype=torch.bool)
        result = func(*args, **(kwargs or {}))
        if name in ("bernoulli", "bernoulli_"):
            self.note(result)
            return result.fill_(1)
        if name in ("rand", "rand_like", "randn", "randn_like", "normal", "normal_", "uniform_",
                    "exponential_", "log_normal_", "cauchy_", "geometric_"):
            self.note(result)
            return result.fill_(0.37)
        if name in ("randint", "randint_like", "random_", "randperm", "multinomial", "poisson",
                    "_standard_gamma", "_sample_dirichlet", "binomial"):
            self.note(result)
        return result


def why_shared(whole: Sequence[int], parts: Sequence[Sequence[int]]) -> Optional[str]:
    """Parts draw for themselves: where all samples have the same random numbers, those of different
    parts would not. Given how many were drawn each time."""
    if all(len(part) == len(whole) for part in parts) and all(
            total == sum(numbers) for total, *numbers in zip(whole, *parts)):
        return None
    return "forward draws random numbers that all samples share"
