"""Memory that the leader and its replicas share.

One region is mapped before the first fork, so that all see it at the same address; replicas that
are no forks map the same file. Pages cost nothing until they are written.

    control      mailboxes, the exchange of batch-norm statistics
    permanent    what stays for the life of the process: see `allocate`
    heaps        one per worker; emptied at every message that its owner writes
"""

import os
import resource
import shutil
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

import torch
from torch import nn

from rubato import _core

WORKERS_MAX = 64
MAILBOX_BYTES = 256 << 10
HEAP_BYTES = 4 << 30
PERMANENT_BYTES = 16 << 30
KEPT_BYTES = 256 << 20  # Of a heap; what a large message took beyond that is given back.
STATISTICS_MAX = 65536  # Numbers of one exchange.
ALIGNMENT = 64
SHARED_MEMORY_FOLDER = "/dev/shm"  # Where torch makes shared tensors.


class Place(NamedTuple):
    """Where a tensor lies in the region."""

    offset: int
    dtype: torch.dtype
    shape: Tuple[int, ...]


def aligned(size: int) -> int:
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


class Memory:
    """The region, and what lies where in it."""

    def __init__(self, descriptor: int = -1) -> None:
        split = _core.split
        mailbox = aligned(split.Mailbox.footprint(MAILBOX_BYTES))
        exchange = aligned(split.Exchange.footprint(WORKERS_MAX, STATISTICS_MAX))
        permanent = exchange + WORKERS_MAX * mailbox
        self.heaps_begin = permanent + PERMANENT_BYTES
        size = self.heaps_begin + WORKERS_MAX * HEAP_BYTES
        self.descriptor = descriptor  # Of the file that other processes can map; -1: none.
        if descriptor >= 0:
            os.ftruncate(descriptor, size)
        self.region = split.Region(size, descriptor)
        self.exchange = split.Exchange(self.region, 0, WORKERS_MAX, STATISTICS_MAX)
        self.mailboxes = [
            split.Mailbox(self.region, exchange + rank * mailbox, MAILBOX_BYTES)
            for rank in range(WORKERS_MAX)
        ]
        self.permanent_next = permanent
        self.permanent_end = self.heaps_begin

    def allocate(self, size: int) -> int:
        """Memory that is never given back; its offset in the region."""
        offset = self.permanent_next
        if offset + size > self.permanent_end:
            raise MemoryError(f"no room for {size} bytes that replicas should share")
        self.permanent_next = offset + aligned(size)
        return offset

    def heap(self, rank: int) -> "Heap":
        return Heap(self, self.heaps_begin + rank * HEAP_BYTES)

    def view(self, place: Sequence[Any]) -> torch.Tensor:
        """The tensor at a place; it shares the region's memory."""
        offset, dtype, shape = place
        count = 1
        for size in shape:
            count *= size
        if count == 0:
            return torch.empty(shape, dtype=dtype)
        flat = torch.frombuffer(self.region, dtype=dtype, count=count, offset=offset)
        return flat.view(shape)


class Heap:
    """Where one process puts the tensors of its messages."""

    def __init__(self, memory: Memory, begin: int) -> None:
        self.memory = memory
        self.begin = begin
        self.used = 0
        self.most = 0

    def clear(self) -> None:
        """The last message has been read."""
        self.most = max(self.most, self.used)
        if self.most > KEPT_BYTES and self.used < self.most // 4:
            self.memory.region.discard(self.begin + KEPT_BYTES, self.most - KEPT_BYTES)
            self.most = self.used
        self.used = 0

    def put(self, tensor: torch.Tensor) -> Place:
        size = tensor.numel() * tensor.element_size()
        if self.used + size > HEAP_BYTES:
            raise MemoryError(f"a part's tensors are larger than {HEAP_BYTES} bytes")
        place = Place(self.begin + self.used, tensor.dtype, tuple(tensor.shape))
        self.used += aligned(size)
        if size > 0:
            self.memory.view(place).copy_(tensor)
        return place

    def put_all(self, tensors: Sequence[Optional[torch.Tensor]]) -> List[Optional[Place]]:
        """Waits for a device once, not for every tensor."""
        on_host = on_the_host(tensors)
        return [None if tensor is None else self.put(tensor) for tensor in on_host]


def on_the_host(tensors: Sequence[Optional[torch.Tensor]]) -> List[Optional[torch.Tensor]]:
    """Copies of those that lie on a device; the others as they are."""
    copies: List[Optional[torch.Tensor]] = []
    is_waiting = False
    for tensor in tensors:
        if tensor is not None and tensor.is_cuda:
            pinned = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            tensor = pinned.copy_(tensor.detach(), non_blocking=True)
            is_waiting = True
        copies.append(tensor)
    if is_waiting:
        torch.cuda.current_stream().synchronize()
    return copies


def on_the_device(tensor: torch.Tensor, device: Any) -> torch.Tensor:
    """A tensor of shared memory where it is needed; on the host it is the same one."""
    if device == "cpu" or isinstance(device, torch.device) and device.type == "cpu":
        return tensor
    return tensor.pin_memory().to(device, non_blocking=True)


def tensors_of(module: nn.Module) -> List[torch.Tensor]:
    """Parameters and buffers, each once."""
    found = {}
    for part in module.modules():
        for tensor in (*part._parameters.values(), *part._buffers.values()):
            if tensor is not None:
                found[id(tensor)] = tensor
    return list(found.values())


def why_not_shareable(tensor: torch.Tensor) -> str:
    """Why replicas cannot map this parameter or buffer; empty if they can."""
    if isinstance(tensor, nn.parameter.UninitializedTensorMixin):
        return "has parameters without a shape yet"
    if tensor.device.type not in ("cpu", "cuda"):
        return f"has tensors on the device {tensor.device.type}"
    if tensor.layout != torch.strided or tensor.is_quantized:
        return "has tensors that are not dense"
    return ""


def is_shared(module: nn.Module) -> bool:
    """Whether replicas see what changes in its tensors."""
    return all(not why_not_shareable(tensor) and tensor.is_shared()
               for tensor in tensors_of(module))


def share(module: nn.Module) -> str:
    """Moves parameters and buffers to shared memory in place, so that optimizers and views keep
    theirs. Why it cannot be done, or nothing."""
    missing = [t for t in tensors_of(module) if not why_not_shareable(t) and not t.is_shared()]
    size = sum(t.storage().nbytes() for t in missing)
    free = shutil.disk_usage(SHARED_MEMORY_FOLDER).free
    if size > free:
        return f"needs {size >> 20} MB of shared memory, and /dev/shm has {free >> 20} MB left"
    for tensor in missing:
        # Not `tensor.data = ...`: views and tied weights must stay tied.
        tensor.storage().share_memory_()
    return ""


def raise_descriptor_limit() -> None:
    """Every shared tensor costs a descriptor."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
