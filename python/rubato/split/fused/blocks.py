"""Blocks of shared memory that tensors lie in, used again when no tensor is left in them."""

import weakref
from typing import Any, List, Sequence, Tuple

import torch

from rubato.split.memory import aligned

FLOAT_BYTES = 4
# A block may serve a smaller request, but not one for less than this share of it.
USED_MIN = 0.5
AVAILABLE_SHARE_MAX = 0.5  # Of the memory that the system has left, for one block.


class Blocks:
    """Of one leader."""

    def __init__(self, controller: Any) -> None:
        self.controller = controller
        self.memory = controller.memory
        self.free: List[Tuple[int, int]] = []  # Sizes and offsets.

    def take(self, size: int) -> Any:
        """A buffer that lives as long as any tensor made of it. Raises MemoryError."""
        size = max(aligned(size), 1)
        if size > AVAILABLE_SHARE_MAX * available_bytes():
            raise MemoryError(f"{size} bytes are too much of the memory that is left")
        fitting = [block for block in self.free if size <= block[0] <= size / USED_MIN]
        if fitting:
            block = min(fitting)
            self.free.remove(block)
        else:
            block = (size, self.memory.allocate(size))
        part = self.memory.region.part(block[1], block[0])
        weakref.finalize(part, self.give_back, block).atexit = False
        return part

    def give_back(self, block: Tuple[int, int]) -> None:
        """In a fork this must do nothing: the leader's tensors are still there."""
        if self.controller.is_leader:
            self.memory.region.discard(block[1], block[0])
            self.free.append(block)


def available_bytes() -> int:
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return 0


def tensors_in(part: Any, begins: Sequence[int],
               like: Sequence[torch.Tensor]) -> List[torch.Tensor]:
    """A tensor of floats for each given one, with a storage of its own: saving one saves just
    that."""
    return [torch.frombuffer(part, dtype=torch.float32, count=tensor.numel(),
                             offset=FLOAT_BYTES * begin).view(tensor.shape)
            for begin, tensor in zip(begins, like)]
