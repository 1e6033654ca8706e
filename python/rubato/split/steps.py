"""What counts as a step of a script.

A step is one round of `optimizer.step()`: every optimizer steps at most once in a round, so a pair
of networks trained in turn counts as one. An optimizer that was made after the round began opens
a new one, as in k-fold training. Scripts that make no optimizer count calls of `backward()`.
"""

import functools
import math
import weakref
from typing import Any, Callable, List

import torch


class StepCounter:
    """Counts the steps of this process."""

    def __init__(self) -> None:
        self.rounds = 0
        self.backwards = 0
        self.made = 0  # Optimizers.
        self.numbers: Any = weakref.WeakKeyDictionary()  # Of optimizers, in the order of making.
        self.in_round: set = set()
        self.made_when_round_began = 0
        self.loss = math.nan  # That gradients were last computed of.
        self.on_step: List[Callable[[int], None]] = []
        self.on_optimizer_step: List[Callable[[Any], None]] = []  # Every step of every optimizer.

    @property
    def count(self) -> int:
        return self.rounds if self.made > 0 else self.backwards

    def add_optimizer(self, optimizer: Any) -> None:
        if optimizer not in self.numbers:
            self.made += 1
            self.numbers[optimizer] = self.made

    def on_optimizer(self, optimizer: Any) -> None:
        """After its step."""
        for listener in self.on_optimizer_step:
            listener(optimizer)
        number = self.numbers.get(optimizer, 0)
        is_new = number in self.in_round or number > self.made_when_round_began
        if is_new or not self.in_round:
            self.rounds += 1
            self.in_round = set()
            self.made_when_round_began = self.made
            self.tell()
        self.in_round.add(number)

    def on_backward(self, tensors: Any) -> None:
        self.backwards += 1
        if isinstance(tensors, torch.Tensor) and tensors.numel() == 1:
            self.loss = float(tensors.detach())
        if self.made == 0:
            self.tell()

    def tell(self) -> None:
        for listener in self.on_step:
            listener(self.count)


def install(controller: Any) -> None:
    """Watches every optimizer, whatever its class: all pass through the base class."""
    steps = controller.steps
    original_init = torch.optim.Optimizer.__init__
    original_end = torch.optim.Optimizer._optimizer_step_code
    original_backward = torch.autograd.backward

    @functools.wraps(original_init)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original_init(self, *args, **kwargs)
        if controller.is_leader:
            steps.add_optimizer(self)

    @functools.wraps(original_end)
    def end(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Torch calls this at the end of every `step`."""
        result = original_end(self, *args, **kwargs)
        if controller.is_leader:
            steps.on_optimizer(self)
        return result

    @functools.wraps(original_backward)
    def backward(tensors: Any, *args: Any, **kwargs: Any) -> None:
        original_backward(tensors, *args, **kwargs)
        if controller.is_leader:
            steps.on_backward(tensors)

    torch.optim.Optimizer.__init__ = init
    torch.optim.Optimizer._optimizer_step_code = end
    torch.autograd.backward = backward
