"""One batch that is fetched ahead: its rows are handed out in chunks to whoever has time."""

from __future__ import annotations

import array
import os
import time
from typing import Any

import torch
from torch.utils import _pytree as pytree

from rubato._core import split
from rubato.split import child

from .feed import Feed, Layout
from .random_states import RandomStates
from .slots import Slot

ROWS_MAX = 1 << 16
# After this long without a sign of life, the leader reads the rows itself.
PATIENCE_SECONDS = 10.0
_LOOK_US = 5_000

# The words before the indices, all 64-bit.
_FEED, _VERSION, _OFFSET, _ROWS, _CHUNK_ROWS, _UNKNOWN, _FAILURE = range(7)
_INDICES = 8
# Values of the word _FAILURE, and what is told.
_FAILURES = {
    1: "its rows have other forms, or cannot be read, in another process",
    2: "reading a row draws random numbers",
    3: "reading a row changes the dataset, or what the dataset uses",
    4: "reading a row writes output",
}
_FORM, _RANDOM, _CHANGE, _OUTPUT = _FAILURES


def is_dead(process: int) -> bool:
    """True for a process that has ended, whether or not somebody has waited for it."""
    try:
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, process, options) is not None
    except ChildProcessError:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        return False


class ReplicaOutput:
    """What a replica writes, which nobody will read. A row that writes is read by the leader."""

    def __init__(self) -> None:
        self._file = os.memfd_create("replica-output")
        os.dup2(self._file, 1)
        os.dup2(self._file, 2)

    def clear(self) -> None:
        """Forgets what was written by anything else."""
        if self.has_any():
            os.lseek(self._file, 0, os.SEEK_SET)
            os.ftruncate(self._file, 0)

    def has_any(self) -> bool:
        child.flush_streams()
        return os.lseek(self._file, 0, os.SEEK_CUR) > 0


class Board:
    """The shared description of the round that is on, and the queue of its chunks."""

    def __init__(self, memory: Any):
        self.region = region = memory.region
        self.queue = split.RowQueue(region, memory.allocate(split.RowQueue.footprint()))
        size = 8 * (_INDICES + ROWS_MAX)
        start = memory.allocate(size)
        self._words = memoryview(region)[start : start + size].cast("q")
        # The last round that this process, a replica, could not take part in.
        self.declined = 0
        self._output: ReplicaOutput | None = None

    def is_free(self) -> bool:
        """True if a round may begin: no process is at rows of the last one."""
        self.queue.stop()
        for owner in {owner for _, owner in self.queue.held()}:
            # A chunk of our own is left over if reading it was interrupted.
            if owner == os.getpid() or is_dead(owner):
                for chunk in self.queue.reclaim(owner):
                    self.queue.fail(chunk)
        return not self.queue.held()

    def publish(self, feed: Feed, slot: Slot, indices: list[int], chunk_rows: int) -> bool:
        words = self._words
        words[_FEED] = feed.number
        words[_VERSION] = feed.version
        words[_OFFSET] = slot.offset
        words[_ROWS] = len(indices)
        words[_CHUNK_ROWS] = chunk_rows
        words[_UNKNOWN] = 0
        words[_FAILURE] = 0
        words[_INDICES : _INDICES + len(indices)] = memoryview(array.array("q", indices))
        return self.queue.start(-(-len(indices) // chunk_rows))

    @property
    def was_unknown(self) -> bool:
        """True if a replica did not know the dataset of this round, or knew an older one."""
        return bool(self._words[_UNKNOWN])

    @property
    def failure(self) -> str:
        return _FAILURES.get(self._words[_FAILURE], _FAILURES[_FORM])

    def serve(self, feeds: dict[int, Feed]) -> bool:
        """In a replica: fetches one chunk. False if there is none that it can fetch."""
        sequence = self.queue.sequence
        if sequence == self.declined or not self.queue.has_work:
            return False
        if self._feed(feeds) is None:
            self.declined = sequence
            self._words[_UNKNOWN] = 1
            return False
        chunk = self.queue.take()
        if chunk < 0:
            return False
        # Only from here on the description cannot change: no round begins while a chunk is held.
        feed = self._feed(feeds)
        if feed is None:
            self._words[_UNKNOWN] = 1
            self.queue.fail(chunk)
            return True
        failure = self._fetch(feed, chunk)
        if failure:
            self._words[_FAILURE] = failure
            self.queue.fail(chunk)
        else:
            self.queue.done(chunk)
        return True

    def _feed(self, feeds: dict[int, Feed]) -> Feed | None:
        feed = feeds.get(self._words[_FEED])
        is_same = feed is not None and feed.version == self._words[_VERSION]
        return feed if is_same and self._words[_ROWS] in feed.layouts else None

    def _fetch(self, feed: Feed, chunk: int) -> int:
        """0, or why it failed."""
        count, size = self._words[_ROWS], self._words[_CHUNK_ROWS]
        layout = feed.layouts[count]
        rows = slice(chunk * size, min(count, (chunk + 1) * size))
        indices = self._words[_INDICES + rows.start : _INDICES + rows.stop].tolist()
        states = None if feed.is_fast else RandomStates()
        if self._output is None:
            self._output = ReplicaOutput()
        self._output.clear()
        try:
            targets = layout.tensors(self.region, self._words[_OFFSET], rows)
            if not feed.read_into(indices, layout, targets):
                return _FORM
        except Exception:  # The leader reads the rows again and raises what the script raises.
            return _FORM
        if states is not None and not states.are_current():
            return _RANDOM
        if self._output.has_any():
            return _OUTPUT
        return _CHANGE if feed.has_changed() else 0


class Round:
    """What the leader knows about a batch that it has handed out."""

    def __init__(self, board: Board, feed: Feed, slot: Slot, indices: list[int], chunk_rows: int):
        self.board = board
        self.feed = feed
        self.slot = slot
        self.indices = indices
        self.chunk_rows = chunk_rows
        self.chunks = -(-len(indices) // chunk_rows)
        # Those that the leader read itself.
        self.own_chunks = 0
        self.process = os.getpid()
        # Why the rows are of no use, if they are not.
        self.reason: str | None = None
        self._kept: dict[int, list[Any]] = {}

    def collect(self) -> Any | None:
        """Takes what is left, waits for the rest and returns the batch; None if it is no use."""
        board, feed = self.board, self.feed
        states = None if feed.is_fast else RandomStates()
        layout = feed.layouts[len(self.indices)]
        is_good = True
        while (chunk := board.queue.take()) >= 0:
            is_good &= self._fetch(chunk, layout)
        is_good &= self._wait(layout)
        if states is not None and not states.are_current():
            # The rows must draw in their order, so the whole batch is read again.
            states.restore()
            self._kept.clear()
            self.reason = _FAILURES[_RANDOM]
            return None
        if board.queue.failed and not board.was_unknown:
            self.reason = self.reason or board.failure
        if not is_good or board.queue.failed or feed.has_changed():
            return None
        view = self.slot.deliver(layout.size)
        tensors = layout.tensors(view, 0, slice(0, len(self.indices)))
        return pytree.tree_unflatten(tensors, layout.spec)

    def must_keep_samples(self) -> bool:
        """True if reading rows here has changed the dataset: none may be read a second time."""
        return bool(self._kept) and self.feed.has_changed()

    def read_rest(self) -> Any:
        """The batch made of the rows that were read here, and the others read now."""
        samples: list[Any] = []
        size = self.chunk_rows
        for chunk, start in enumerate(range(0, len(self.indices), size)):
            indices = self.indices[start : start + size]
            samples += self._kept[chunk] if chunk in self._kept else self.feed.samples(indices)
        return self.feed.collate(samples)

    def _fetch(self, chunk: int, layout: Layout) -> bool:
        rows = slice(chunk * self.chunk_rows,
                     min(len(self.indices), (chunk + 1) * self.chunk_rows))
        is_good = False
        self.own_chunks += 1
        try:
            targets = layout.tensors(self.board.region, self.slot.offset, rows)
            is_good = self._read_into(chunk, self.indices[rows], layout, targets)
        except Exception:  # Raised again, with the script's own traceback, by reading it plainly.
            self._kept.pop(chunk, None)
        self.board.queue.done(chunk)
        return is_good

    def _read_into(self, chunk: int, indices: list[int], layout: Layout,
                   targets: list[torch.Tensor]) -> bool:
        if self.feed.is_fast:
            return self.feed.read_into(indices, layout, targets)
        samples = self._kept[chunk] = self.feed.samples(indices)
        return layout.store(self.feed.collate(samples), targets)

    def _wait(self, layout: Layout) -> bool:
        """Waits for chunks that replicas hold, and reads those of dead ones. False if in vain."""
        queue, is_good = self.board.queue, True
        ends = time.monotonic() + PATIENCE_SECONDS
        while not queue.wait_all(_LOOK_US):
            for owner in {owner for _, owner in queue.held()}:
                if is_dead(owner):
                    for chunk in queue.reclaim(owner):
                        is_good &= self._fetch(chunk, layout)
            if time.monotonic() > ends:
                self.reason = "a replica did not read its rows in time"
                return False
        return is_good
