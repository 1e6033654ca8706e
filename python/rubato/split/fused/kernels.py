"""Whether our optimizer step has the bits of torch's own.

Torch has its kernels several times, for different processors, and chooses by itself. So ours are
compared with it on a few numbers when a process first wants them, which takes milliseconds.
"""

from typing import Any, Dict, Iterator, List, Optional

import torch
from torch.optim.adam import adam
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd

from rubato import _core

STEPS = 5
FLOAT = torch.float32  # Whatever the script has chosen as its default.
CHECKED_FLOATS = 8 + 32 + 5  # Vectors of all lengths, and a rest.
SGD = {"lr": 0.05, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False}
ADAM = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0}
CHECKED_CASES = [
    (torch.optim.SGD, {**SGD, "momentum": 0.9, "weight_decay": 1e-4, "nesterov": True}),
    (torch.optim.SGD, {**SGD, "lr": 0.0513, "momentum": 0.9, "dampening": 0.1}),
    (torch.optim.SGD, {**SGD, "weight_decay": 1e-2}),
    (torch.optim.Adam, {**ADAM, "betas": (0.85, 0.98), "eps": 1e-6, "weight_decay": 1e-2}),
    (torch.optim.AdamW, {**ADAM, "weight_decay": 0.1}),
]


def set_settings(work: Any, index: int, kind: type, group: Dict[str, Any], step: float) -> None:
    """The numbers of a group of parameters; `step` counts from one, and matters to Adam only."""
    if kind is torch.optim.SGD:
        work.set_sgd(index, group["lr"], group["momentum"], group["dampening"],
                     group["weight_decay"], bool(group["nesterov"]))
    else:
        work.set_adam(index, group["lr"], group["betas"], group["eps"], group["weight_decay"],
                      step, kind is torch.optim.AdamW)


class TorchStep:
    """Torch's own step of one parameter, without the optimizer around it."""

    def __init__(self, kind: type, options: Dict[str, Any], parameter: torch.Tensor) -> None:
        self.kind, self.options, self.parameter = kind, options, parameter
        self.count = torch.tensor(0.0, dtype=FLOAT)
        self.state: List[Optional[torch.Tensor]] = (
            [torch.zeros_like(parameter) if options["momentum"] else None, None]
            if kind is torch.optim.SGD
            else [torch.zeros_like(parameter), torch.zeros_like(parameter)])

    def take(self, gradient: torch.Tensor) -> None:
        options = self.options
        if self.kind is torch.optim.SGD:
            sgd([self.parameter], [gradient], [self.state[0]], has_sparse_grad=False,
                foreach=False, maximize=False, **options)
            return
        function = adam if self.kind is torch.optim.Adam else adamw
        function([self.parameter], [gradient], [self.state[0]], [self.state[1]], [], [self.count],
                 foreach=False, capturable=False, amsgrad=False, maximize=False,
                 beta1=options["betas"][0], beta2=options["betas"][1], lr=options["lr"],
                 weight_decay=options["weight_decay"], eps=options["eps"])


def steps_differ(kind: type, options: Dict[str, Any], size: int, generator: torch.Generator,
                 is_fused: bool) -> Iterator[bool]:
    """Takes a few steps in both ways and tells for each whether any bit differs. The gradients
    are of two or three parts, of different scale, added to nothing, to zero or to a value, and
    clipped in every other step."""

    def draw(scale: float = 1.0) -> torch.Tensor:
        return torch.randn(size, generator=generator, dtype=FLOAT) * scale

    theirs = TorchStep(kind, options, draw())
    parameter = theirs.parameter.clone()
    state = [None if tensor is None else tensor.clone() for tensor in theirs.state]
    for step in range(1, 1 + STEPS):
        base, count = step % 3, 2 + step % 2
        parts = [draw(10.0 ** ((step + part) % 4 - 2)) for part in range(count)]
        gradient = draw()
        scale = torch.rand((), generator=generator, dtype=FLOAT) if step % 2 else None
        total = parts[0] + parts[1]
        for part in parts[2:]:
            total += part
        wanted = {0: total, 1: torch.zeros_like(total) + total, 2: gradient + total}[base]
        if scale is not None:
            wanted.mul_(scale)
        theirs.take(wanted)

        work = _core.split.StepWork()
        work.set_parts(base, [part.data_ptr() for part in parts])
        work.set_scale(None if scale is None else float(scale))
        set_settings(work, 1, kind, options, float(step))
        addresses = [0 if tensor is None else tensor.data_ptr() for tensor in state]
        table = _core.split.StepTable(
            [(parameter.data_ptr(), gradient.data_ptr(), *addresses, 0, size, 1)])
        table.run_alone(work, is_fused)

        yield not all(map(is_same, [parameter, gradient, *state],
                          [theirs.parameter, wanted, *theirs.state]))


def is_same(one: Optional[torch.Tensor], other: Optional[torch.Tensor]) -> bool:
    """In every bit."""
    if one is None or other is None:
        return one is other
    return torch.equal(one.view(torch.int32), other.view(torch.int32))


def matching_kind() -> Optional[bool]:
    """Whether torch multiplies and adds with one rounding, as ours then do too; nothing if torch
    computes in a way that we do not know."""
    kinds = [True, False] if _core.split.has_fused_step() else [False]
    with torch.no_grad():
        for is_fused in kinds:
            generator = torch.Generator().manual_seed(1)
            if not any(differs for kind, options in CHECKED_CASES
                       for differs in steps_differ(kind, options, CHECKED_FLOATS, generator,
                                                   is_fused)):
                return is_fused
    return None
