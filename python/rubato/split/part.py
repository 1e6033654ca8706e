"""The computation of one worker's parts of a shared call."""

from typing import Any, Callable, List, Optional, Sequence, Tuple

import torch
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from rubato.split.batch_norm import StatisticsUpdate

EXCHANGE_PATIENCE_US = 20_000  # Between looks at whether a peer is alive.
# As torch has them: what the script sees of both is replaced.
GRAD = torch._C._TensorBase.grad
BACKWARD = torch.autograd.backward


class ReplicaLost(Exception):
    """A replica died, or did not answer."""


class CallAborted(Exception):
    """Another worker of the call is gone: this computation is of no use."""


class Part:
    """While it is current, batch normalisation exchanges statistics with the call's other parts."""

    def __init__(self, memory: Any, rank: int, ranks: int, generation: int, sequence: int,
                 is_alive: Optional[Callable[[int], bool]] = None) -> None:
        self.memory = memory
        self.rank, self.ranks = rank, ranks
        self.generation, self.sequence = generation, sequence
        self.is_alive = is_alive
        self.updates: List[StatisticsUpdate] = []

    def exchange(self, vector: torch.Tensor) -> torch.Tensor:
        """The vectors of all ranks, one per row."""
        if self.ranks == 1:
            return vector.unsqueeze(0)
        self.sequence += 1
        exchange = self.memory.exchange
        device = vector.device
        vector = vector.detach().cpu().contiguous()
        while True:
            state = exchange.all_gather(vector.numpy(), self.rank, self.ranks, self.sequence,
                                        self.generation, EXCHANGE_PATIENCE_US)
            if state == 0:
                break
            if state == 2:
                raise CallAborted
            if self.is_alive is not None:
                for rank in range(1, self.ranks):
                    if not self.is_alive(rank):
                        raise ReplicaLost
        rows = [self.memory.view((exchange.slot_offset(rank, self.sequence), vector.dtype,
                                  tuple(vector.shape))) for rank in range(self.ranks)]
        return torch.stack(rows).to(device)


class Current:
    """Makes a part the current one of the controller."""

    def __init__(self, controller: Any, part: Optional[Part]) -> None:
        self.controller, self.part = controller, part

    def __enter__(self) -> Optional[Part]:
        self.before = self.controller.part
        self.controller.part = self.part
        self.controller.depth += 1
        return self.part

    def __exit__(self, *_: Any) -> None:
        self.controller.part = self.before
        self.controller.depth -= 1


class Settings:
    """Of the leader's thread, that a part must be computed with."""

    def __init__(self) -> None:
        self.grad = torch.is_grad_enabled()
        self.autocast = None
        self.autocast_device = "cpu"
        if torch.is_autocast_enabled():
            self.autocast, self.autocast_device = torch.get_autocast_gpu_dtype(), "cuda"
        elif torch.is_autocast_cpu_enabled():
            self.autocast = torch.get_autocast_cpu_dtype()
        self.default_dtype = torch.get_default_dtype()

    def __reduce__(self) -> Any:
        return (Settings.restored,
                (self.grad, self.autocast, self.autocast_device, self.default_dtype))

    @staticmethod
    def restored(grad: bool, autocast: Any, device: str, default_dtype: Any) -> "Settings":
        found = Settings.__new__(Settings)
        found.grad, found.autocast, found.autocast_device = grad, autocast, device
        found.default_dtype = default_dtype
        return found

    def with_graph(self) -> "Settings":
        return Settings.restored(True, self.autocast, self.autocast_device, self.default_dtype)

    def without_graph(self) -> "Settings":
        return Settings.restored(False, self.autocast, self.autocast_device, self.default_dtype)


def compute(call_module: Callable[..., Any], module: Any, spec: TreeSpec, leaves: Sequence[Any],
            settings: Settings) -> Tuple[List[Any], TreeSpec]:
    """The outputs of a part, flat, with the graph below them."""
    args, kwargs = tree_unflatten(list(leaves), spec)
    torch.clear_autocast_cache()
    with torch.set_grad_enabled(settings.grad):
        if settings.autocast is None:
            with torch.autocast("cpu", enabled=False):
                result = call_module(module, *args, **kwargs)
        else:
            with torch.autocast(settings.autocast_device, dtype=settings.autocast):
                result = call_module(module, *args, **kwargs)
    return tree_flatten(result)


def gradients_of(outputs: Sequence[Any], of_outputs: Sequence[Optional[torch.Tensor]],
                 wanted: Sequence[torch.Tensor]) -> List[Optional[torch.Tensor]]:
    """Gradients of the wanted tensors; nothing for those that the outputs do not depend on."""
    pairs = [(output, gradient) for output, gradient in zip(outputs, of_outputs)
             if gradient is not None and isinstance(output, torch.Tensor) and output.requires_grad]
    if not pairs or not wanted:
        return [None] * len(wanted)
    roots, gradients = zip(*pairs)
    return list(torch.autograd.grad(roots, wanted, gradients, allow_unused=True))


def gradients_by_backward(outputs: Sequence[Any], of_outputs: Sequence[Optional[torch.Tensor]],
                          wanted: Sequence[torch.Tensor]) -> List[Optional[torch.Tensor]]:
    """The same for graphs that refuse `autograd.grad`, such as those of activation checkpoints."""
    pairs = [(output, gradient) for output, gradient in zip(outputs, of_outputs)
             if gradient is not None and isinstance(output, torch.Tensor) and output.requires_grad]
    if not pairs or not wanted:
        return [None] * len(wanted)
    kept = [GRAD.__get__(tensor) for tensor in wanted]
    for tensor in wanted:
        GRAD.__set__(tensor, None)
    try:
        roots, gradients = zip(*pairs)
        BACKWARD(roots, gradients)
        return [GRAD.__get__(tensor) for tensor in wanted]
    finally:
        for tensor, gradient in zip(wanted, kept):
            GRAD.__set__(tensor, gradient)
