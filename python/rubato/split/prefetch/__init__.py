"""Rows of the next batch, fetched by idle replicas, without any change to what a script sees.

`install(controller)` in the leader, before the script runs; `serve_chunk()` in a replica that waits
for a message. RUBATO_PREFETCH=0 turns all of it off.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from torch.utils.data import dataloader

from rubato.split.memory import Place

from .loader import Counts, Prefetcher

_prefetcher: Prefetcher | None = None


class IdleRows:
    """A replica fetches rows while it has no request."""

    def __init__(self, prefetcher: Prefetcher):
        self._prefetcher = prefetcher

    def wait(self, mailbox: Any, timeout_us: int) -> bytes | None:
        """The next request; None if none came in time."""
        while True:
            request = mailbox.wait_request(0)
            if request is not None:
                return request
            if not self._prefetcher.serve_chunk():
                break
        address = self._prefetcher.ticket_address()
        if address is None:
            return mailbox.wait_request(timeout_us)
        ticket = (address, self._prefetcher.declined_round())
        return mailbox.wait_request_or_work(timeout_us, [ticket])


class DeliveredBatches:
    """Batches that replicas can read where they lie."""

    def __init__(self, prefetcher: Prefetcher):
        self._prefetcher = prefetcher

    def place(self, _: torch.Tensor, part: torch.Tensor) -> Place | None:
        """Where a part of an argument lies in the region; None if it must be copied there."""
        offset = self._prefetcher.location(part)
        return None if offset is None else Place(offset, part.dtype, tuple(part.shape))


def install(controller: Any) -> None:
    """Replaces the loader's way to the next batch, a replica's way to wait, and the leader's way to
    hand a batch to replicas."""
    global _prefetcher
    if os.environ.get("RUBATO_PREFETCH") == "0" or _prefetcher is not None:
        return
    _prefetcher = prefetcher = Prefetcher(controller)

    def _next_data(self: Any) -> Any:
        return prefetcher.next_data(self)

    controller.idle_work = IdleRows(prefetcher)
    controller.delivered = DeliveredBatches(prefetcher)
    dataloader._SingleProcessDataLoaderIter._next_data = _next_data
    os.register_at_fork(
        before=prefetcher.before_fork,
        after_in_parent=prefetcher.after_fork_in_parent,
        after_in_child=prefetcher.after_fork_in_child,
    )


def counts() -> Counts:
    """What became of batches that were fetched ahead in this process."""
    return Counts() if _prefetcher is None else _prefetcher.counts


def serve_chunk() -> bool:
    """In a replica that waits: fetches one chunk of rows. False if there is none for it."""
    return _prefetcher is not None and _prefetcher.serve_chunk()


def ticket_address() -> int | None:
    """A 64-bit word of the region that tells a waiting replica of rows to fetch: there are some if
    its lower half is less than the 32-bit word behind it. None if nothing is ever handed out."""
    return None if _prefetcher is None else _prefetcher.ticket_address()


def delivered_location(tensor: torch.Tensor) -> int | None:
    """Where in the region a contiguous tensor lies, if it is a delivered batch or a view of one.

    The memory is the tensor's own, so what the script writes to it is there too. It stays as long
    as the tensor lives: whoever lets replicas read it must hold the tensor until they have.
    """
    return None if _prefetcher is None else _prefetcher.location(tensor)
