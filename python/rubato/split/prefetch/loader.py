"""Delivers batches of single-process loaders, and has idle replicas fetch the rows of the next one.

Right after a batch is delivered, the sampler is asked for the next one's indices and the rows are
handed out in chunks. A replica takes chunks while it waits for a message. When the script asks for
the batch, the leader takes the chunks that are left, waits for the others and delivers tensors that
lie in shared memory. There is no thread.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch.utils.data import dataloader

from rubato._core import split

from . import fast_fetch, lookahead
from .feed import Feed, Layout
from .round import ROWS_MAX, Board, Round
from .slots import SlotPool

# Batches of a dataset before it is looked at: many loaders are asked for one only.
BATCHES_MIN = 2
# A call waits for a replica that is in the middle of a chunk.
CHUNK_ROWS_MIN = 16
CHUNK_SECONDS = 500e-6
CHUNK_SECONDS_MAX = 20e-3
# A batch that the leader reads in less time is not worth handing out.
SECONDS_MIN = 200e-6
# Batches of a loader that are not fetched ahead because rows wait for another one; then those are
# dropped.
MISSES_MAX = 2
# New replicas, needed where the present ones do not know a dataset, take milliseconds. They are
# made so many times without condition, and then once in so many batches.
RENEWALS_FREE = 20
BATCHES_PER_RENEWAL = 50

_PLAIN_NEXT = dataloader._SingleProcessDataLoaderIter._next_data


@dataclass
class Counts:
    """What became of batches that were fetched ahead."""

    delivered: int = 0
    discarded: int = 0
    chunks_of_replicas: int = 0


class Stream:
    """One iteration over a loader."""

    def __init__(self, loader_iter: Any):
        is_known = lookahead.is_known(loader_iter._index_sampler)
        self.batch_rows: int = loader_iter._index_sampler.batch_size if is_known else 0
        # Indices that were asked for early, and the rows that are fetched for them.
        self.ahead: lookahead.Ahead | None = None
        self.round: Round | None = None
        self.is_fast = fast_fetch.is_tensor_dataset(loader_iter._dataset)
        self.delivered = 0
        # Batches of another stream, and of ours since then.
        self.missed = (0, 0)
        self.samples_limit: int | None = None
        self.seconds = 0.0
        self.has_ended = False

    def fetch(self, loader_iter: Any, indices: Any) -> Any:
        """Reads a batch here and now."""
        start = time.perf_counter()
        data = None
        if self.is_fast and fast_fetch.is_default_collate(loader_iter._collate_fn):
            data = fast_fetch.fetch(loader_iter._dataset, indices)
        if data is None:
            data = loader_iter._dataset_fetcher.fetch(indices)
        self.seconds = time.perf_counter() - start
        return data


def _is_supported(loader_iter: Any) -> bool:
    return (
        type(loader_iter) is dataloader._SingleProcessDataLoaderIter
        and loader_iter._dataset_kind == dataloader._DatasetKind.Map
        and loader_iter._auto_collation
        and not loader_iter._pin_memory
        and fast_fetch.is_default_collate(loader_iter._collate_fn)
    )


def _is_plain_mode() -> bool:
    """False where tensors made by the script differ from those made by another process."""
    return not (
        torch.is_inference_mode_enabled()
        or torch.is_autocast_enabled()
        or torch.is_autocast_cpu_enabled()
    )


class Prefetcher:
    """The loaders of one process."""

    def __init__(self, controller: Any):
        self.counts = Counts()
        self._controller = controller
        self._pool: SlotPool | None = None
        self._board: Board | None = None
        self._feeds: dict[int, Feed] = {}
        self._numbers: dict[int, int] = {}
        self._feeds_made = 0
        self._owner: Callable[[], Stream | None] = lambda: None
        self._forks = 0
        self._renewals = 0
        self._batches = 0
        self._unknown_since: dict[int, int] = {}

    # Delivering.

    def next_data(self, loader_iter: Any) -> Any:
        """In place of `_SingleProcessDataLoaderIter._next_data`."""
        stream = loader_iter.__dict__.get("_rubato_stream")
        if stream is None:
            if not _is_supported(loader_iter):
                return _PLAIN_NEXT(loader_iter)
            stream = loader_iter._rubato_stream = Stream(loader_iter)
        if stream.has_ended:
            raise StopIteration
        ahead, stream.ahead = stream.ahead, None
        current, stream.round = stream.round, None
        if ahead is None:
            indices = loader_iter._next_index()
            data = stream.fetch(loader_iter, indices)
        else:
            indices = ahead.current()
            data = self._collect(stream, loader_iter, indices, current)
        stream.delivered += 1
        if len(indices) == stream.batch_rows and self._may_share():
            self._fetch_ahead(stream, loader_iter, indices, data)
        return data

    def _collect(self, stream: Stream, loader_iter: Any, indices: list[Any],
                 current: Round | None) -> Any:
        """The batch whose indices were asked for early."""
        is_usable = (
            current is not None
            and current.process == os.getpid()
            and self._owner() is stream
            and indices == current.indices
            and fast_fetch.is_default_collate(loader_iter._collate_fn)
            and _is_plain_mode()
        )
        if not is_usable:
            return stream.fetch(loader_iter, indices)
        self._owner = lambda: None
        data = current.collect()
        self.counts.chunks_of_replicas += current.chunks - current.own_chunks
        if current.board.was_unknown:
            self._renew_replicas(current.feed)
        if data is not None:
            self.counts.delivered += 1
            return data
        self.counts.discarded += 1
        if current.reason is not None:
            self._refuse(current.feed, loader_iter, current.reason)
        if current.must_keep_samples():
            return current.read_rest()
        return stream.fetch(loader_iter, indices)

    # Fetching ahead.

    def _may_share(self) -> bool:
        """True in the script's own thread of a leader that has replicas or will have some."""
        controller = self._controller
        return (
            controller.is_leader
            and threading.get_ident() == controller.thread
            and not controller.group.is_by_value
            and (controller.group.count > 0 or controller.workers() > 1)
        )

    def _fetch_ahead(self, stream: Stream, loader_iter: Any, indices: list[Any], data: Any) -> None:
        """Hands out the rows of the next batch, if that cannot be noticed and pays."""
        if stream.batch_rows > ROWS_MAX or not _is_plain_mode():
            return
        feed = self._feed_of(loader_iter)
        feed.note_seconds(stream.batch_rows, stream.seconds)
        if feed.seconds[stream.batch_rows] < SECONDS_MIN:
            return
        feed.batches += 1
        self._batches += 1
        if feed.reason is not None or feed.batches < BATCHES_MIN:
            return
        if not self._is_ready(feed, stream, loader_iter, indices, data):
            return
        if self._controller.group.count == 0 or not self._is_turn_of(stream):
            return
        if self._unknown_since.get(feed.number) == self._forks:
            return
        board = self._board_of_region()
        if stream.samples_limit is None:
            stream.samples_limit = lookahead.samples_limit(loader_iter._index_sampler)
        if (stream.delivered + 1) * stream.batch_rows > stream.samples_limit:
            return
        slot = self._pool.acquire(feed.layouts[stream.batch_rows].size) if board.is_free() else None
        if slot is None:
            return
        try:
            stream.ahead = ahead = lookahead.Ahead(loader_iter)
        except StopIteration:
            stream.has_ended = True
            return
        rows = ahead.indices
        if len(rows) != stream.batch_rows or not all(type(row) is int for row in rows):
            return
        chunk_rows = _chunk_rows(stream.batch_rows, feed.seconds[stream.batch_rows])
        if board.publish(feed, slot, rows, chunk_rows):
            stream.round = Round(board, feed, slot, rows, chunk_rows)
            self._owner = weakref.ref(stream)
            for replica in self._controller.group.replicas:
                replica.mailbox.wake()

    def _is_ready(self, feed: Feed, stream: Stream, loader_iter: Any, indices: list[Any],
                  data: Any) -> bool:
        """True if the dataset is known, unchanged, and its batches have a form that we know."""
        if not feed.is_examined:
            feed.examine(self._controller, indices, data)
        elif feed.has_changed():
            feed.renew(self._controller, indices, data)
        if feed.reason is None and stream.batch_rows not in feed.layouts:
            layout = Layout.of(data, stream.batch_rows)
            if layout is None:
                feed.reason = "samples are not made of tensors and numbers only"
            else:
                feed.layouts[stream.batch_rows] = layout
        if feed.reason is not None:
            self._refuse(feed, loader_iter, feed.reason)
        return feed.reason is None

    def _is_turn_of(self, stream: Stream) -> bool:
        """False while rows wait for another loader that is used in turn with this one."""
        owner = self._owner()
        if owner is None or owner is stream or owner.ahead is None:
            return True
        # Counted from the other's last batch on: one that is still used keeps its rows.
        missed = stream.missed if stream.missed[0] == owner.delivered else (owner.delivered, 0)
        stream.missed = missed[0], missed[1] + 1
        return missed[1] >= MISSES_MAX

    def _feed_of(self, loader_iter: Any) -> Feed:
        dataset = loader_iter._dataset
        number = self._numbers.get(id(dataset), 0)
        feed = self._feeds.get(number)
        if feed is None or not feed.is_of(dataset):
            self._feeds_made = number = self._feeds_made + 1
            feed = self._feeds[number] = Feed(number, loader_iter, self._drop_feed)
            self._numbers[id(dataset)] = number
        return feed

    def _drop_feed(self, number: int) -> None:
        self._feeds.pop(number, None)
        self._unknown_since.pop(number, None)
        self._numbers = {key: value for key, value in self._numbers.items() if value != number}

    def _board_of_region(self) -> Board:
        memory = self._controller.memory
        if self._board is None or self._board.region is not memory.region:
            self._board = Board(memory)
            self._pool = SlotPool(memory)
        return self._board

    def _renew_replicas(self, feed: Feed) -> None:
        """The replicas were forked before this dataset, or its last change, was there."""
        if self._controller.outstanding > 0:
            return  # They hold graphs; perhaps not after the next batch.
        self._unknown_since[feed.number] = self._forks
        if self._renewals < RENEWALS_FREE + self._batches // BATCHES_PER_RENEWAL:
            self._renewals += 1
            # The next shared call makes new ones.
            self._controller.group.stop()

    def _refuse(self, feed: Feed, loader_iter: Any, reason: str) -> None:
        feed.reason = reason
        name = type(loader_iter._dataset).__name__
        self._controller.notices.tell(
            f"prefetch:{feed.number}", f"rows of {name} are not fetched ahead: {reason}"
        )

    # Other processes.

    def serve_chunk(self) -> bool:
        return self._board is not None and self._board.serve(self._feeds)

    def ticket_address(self) -> int | None:
        return None if self._board is None else self._board.queue.ticket_address

    def location(self, tensor: torch.Tensor) -> int | None:
        if self._pool is None or not tensor.is_contiguous():
            return None
        return self._pool.location(tensor)

    def declined_round(self) -> int:
        return 0 if self._board is None else self._board.declined

    def before_fork(self) -> None:
        if self._controller.memory is not None and self._controller.is_leader:
            # A replica must know where the queue lies.
            self._board_of_region()
        if self._pool is not None:
            self._pool.save()

    def after_fork_in_parent(self) -> None:
        self._forks += 1
        if self._pool is not None:
            self._pool.forget()

    def after_fork_in_child(self) -> None:
        if self._pool is not None:
            self._pool.make_private()
            # The slots stay the parent's.
            self._pool = SlotPool(self._controller.memory)


def _chunk_rows(batch_rows: int, seconds: float) -> int:
    """Rows of a chunk: so many that handing it out costs little, but not for long."""
    row_seconds = max(seconds / batch_rows, 1e-9)
    rows = max(CHUNK_ROWS_MIN, int(CHUNK_SECONDS / row_seconds))
    rows = min(rows, batch_rows, max(1, int(CHUNK_SECONDS_MAX / row_seconds)))
    return max(rows, -(-batch_rows // split.RowQueue.CHUNKS_MAX))
