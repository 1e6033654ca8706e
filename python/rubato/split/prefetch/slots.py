"""Memory of batches that were fetched ahead.

A delivered batch lies in the shared region, so that replicas read their part of it without a copy.
The script holds it by tensors whose storage keeps one memoryview alive; the slot is used again only
when that view is gone, so a tensor that anybody still holds is never overwritten. A forked process
gets private copies of the batches that are held, as it gets of all other memory.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch

from rubato._core import split

# Several, since a script holds a batch while the next one is fetched and the one after delivered.
SLOTS_MAX = 16
BYTES_MAX = 1 << 30
ALIGNMENT = 64


def round_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


class Slot:
    """Pages of the region for one batch."""

    def __init__(self, region: Any, offset: int, size: int):
        self.offset = offset
        self.size = size
        self._memory = split.BatchMemory(region, offset, size)
        self._held: weakref.ref[memoryview] | None = None
        self._used = 0
        self._saved: bytes | None = None

    @property
    def address(self) -> int:
        return self._memory.address

    def is_held(self) -> bool:
        """True while a tensor of the delivered batch lives, or anything that shares its storage."""
        return self._held is not None and self._held() is not None

    def deliver(self, used: int) -> memoryview:
        """The memory for the tensors of a batch. Whoever wants them must keep it alive."""
        view = memoryview(self._memory)
        self._held = weakref.ref(view)
        self._used = used
        return view

    def save(self) -> None:
        """Before a fork: copies the batch if it is held."""
        self._saved = bytes(memoryview(self._memory)[: self._used]) if self.is_held() else None

    def forget(self) -> None:
        """After a fork, in the parent."""
        self._saved = None

    def make_private(self) -> None:
        """After a fork, in the child."""
        if self._saved is not None:
            self._memory.make_private(self._saved)
            self._saved = None


class SlotPool:
    """The slots of one region."""

    def __init__(self, memory: Any):
        self._memory = memory
        self._slots: list[Slot] = []

    def acquire(self, size: int) -> Slot | None:
        """A slot that nobody holds, with at least `size` bytes; None if there is none."""
        for slot in self._slots:
            if size <= slot.size <= 4 * size + split.BatchMemory.PAGE_BYTES and not slot.is_held():
                return slot
        pages = round_up(size, split.BatchMemory.PAGE_BYTES)
        while len(self._slots) >= SLOTS_MAX or sum(s.size for s in self._slots) + pages > BYTES_MAX:
            if not self._drop_one():
                return None
        try:
            start = self._memory.allocate(pages + split.BatchMemory.PAGE_BYTES)
        except MemoryError:
            return None
        # The region begins at a page, so offsets are rounded, not addresses.
        slot = Slot(self._memory.region, round_up(start, split.BatchMemory.PAGE_BYTES), pages)
        self._slots.append(slot)
        return slot

    def _drop_one(self) -> bool:
        """Gives the pages of a slot back, whose size nobody needs now; False if all are held."""
        for slot in self._slots:
            if not slot.is_held():
                self._slots.remove(slot)
                self._memory.region.discard(slot.offset, slot.size)
                return True
        return False

    def location(self, tensor: torch.Tensor) -> int | None:
        """Where in the region the first element of a delivered batch, or of a view of it, lies."""
        address = tensor.data_ptr()
        for slot in self._slots:
            if slot.address <= address < slot.address + slot.size:
                return slot.offset + address - slot.address if slot.is_held() else None
        return None

    def save(self) -> None:
        for slot in self._slots:
            slot.save()

    def forget(self) -> None:
        for slot in self._slots:
            slot.forget()

    def make_private(self) -> None:
        for slot in self._slots:
            slot.make_private()
