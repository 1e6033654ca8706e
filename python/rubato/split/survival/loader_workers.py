"""Worker processes of data loaders, started again for a copy that wakes.

They are children of the leader and end with it. The iterator in the copy still knows which batches
it has asked for and not got; these are asked for again, from new processes, each of which goes on
with the random numbers of the process it replaces. Of an iterable dataset the new process reads
again what the old one had read, since nothing else knows its position.

For that, index lists are kept until their batch has come, and a worker notes the states of its
generators after each batch, in memory that it shares with the leader.
"""

import functools
import mmap
import os
import pickle
import random
import stat
import struct
import sys
import weakref
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import torch
from torch.utils.data import _utils, dataloader

from rubato.split.survival.open_files import descriptors

STATE_BYTES_MAX = 16 << 10  # Of one worker's generators, after one batch.
HISTORY_MAX = 1 << 20  # Batches of one worker of an iterable dataset; beyond, no copy is made.

_HEAD = struct.Struct("@qq")
_Iterator = dataloader._MultiProcessingDataLoaderIter
_Task = Tuple[int, Any]


class GeneratorStates:
    """The last states of the generators of all workers of one iterator."""

    def __init__(self, workers: int, kept: int) -> None:
        self.kept = kept
        self.memory = mmap.mmap(-1, workers * kept * (_HEAD.size + STATE_BYTES_MAX))

    def offset(self, worker: int, count: int) -> int:
        return (worker * self.kept + count % self.kept) * (_HEAD.size + STATE_BYTES_MAX)

    def put(self, worker: int, count: int, state: bytes) -> None:
        at = self.offset(worker, count)
        if len(state) <= STATE_BYTES_MAX:
            self.memory[at + _HEAD.size : at + _HEAD.size + len(state)] = state
            _HEAD.pack_into(self.memory, at, count, len(state))

    def get(self, worker: int, count: int) -> Optional[bytes]:
        """The state after so many batches of a worker, if it is known."""
        at = self.offset(worker, count)
        found, length = _HEAD.unpack_from(self.memory, at)
        if count == 0 or found != count:
            return None
        return self.memory[at + _HEAD.size : at + _HEAD.size + length]


def generator_state() -> bytes:
    numpy = sys.modules.get("numpy.random")
    state = (torch.get_rng_state().numpy().tobytes(), random.getstate(),
             None if numpy is None else numpy.get_state())
    return pickle.dumps(state, pickle.HIGHEST_PROTOCOL)


def set_generator_state(data: bytes) -> None:
    own, python, numpy = pickle.loads(data)
    torch.set_rng_state(torch.frombuffer(bytearray(own), dtype=torch.uint8))
    random.setstate(python)
    if numpy is not None:
        sys.modules["numpy.random"].set_state(numpy)


class Beginning:
    """How a worker that replaces another one begins."""

    def __init__(self, count: int, state: Optional[bytes], tasks: List[Any]) -> None:
        self.count = count  # Batches that the other one had read.
        self.state = state
        self.tasks = tasks  # What it had read, if it must be read again.


class IndexQueue:
    """What a worker takes its tasks from: first those that it must read again."""

    def __init__(self, queue: Any, beginning: Optional[Beginning]) -> None:
        self.queue = queue
        self.beginning = beginning
        self.tasks = list(beginning.tasks) if beginning is not None else []

    def get(self, timeout: float) -> Any:
        if self.tasks:
            return self.tasks.pop(0)
        if self.beginning is not None:
            if self.beginning.state is not None:
                set_generator_state(self.beginning.state)
            self.beginning = None
        return self.queue.get(timeout=timeout)


class ResultQueue:
    """Where a worker puts its batches, and the states of its generators."""

    def __init__(self, queue: Any, tasks: IndexQueue, states: GeneratorStates, worker: int) -> None:
        self.queue = queue
        self.tasks = tasks
        self.states = states
        self.worker = worker
        self.count = tasks.beginning.count if tasks.beginning is not None else 0

    def put(self, result: Tuple[Any, Any]) -> None:
        if self.tasks.beginning is not None:
            return  # Read before, by another worker.
        if isinstance(result[0], int):
            self.count += 1
            self.states.put(self.worker, self.count, generator_state())
        self.queue.put(result)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.queue, name)


class LoaderRecord:
    """What is kept of an iterator."""

    def __init__(self, loader: Any) -> None:
        workers = loader.num_workers
        self.context = loader.multiprocessing_context or torch.multiprocessing
        self.states = GeneratorStates(workers, loader.prefetch_factor * workers + 2)
        self.sent = [0] * workers
        self.indices: Dict[int, Any] = {}  # By the task's number, until the batch has come.
        self.is_iterable = loader._dataset_kind == dataloader._DatasetKind.Iterable
        self.history: List[List[Any]] = [[] for _ in range(workers)]
        self.pipes: Set[Tuple[int, int]] = set()
        self.beginnings: Dict[int, Beginning] = {}  # For the workers that are being started.


_records: "weakref.WeakKeyDictionary[Any, LoaderRecord]" = weakref.WeakKeyDictionary()
_starting: Optional[LoaderRecord] = None  # Seen by the processes forked from here.
# Queues of workers that died with an earlier leader. Their threads are gone, so that they cannot be
# closed in order; they are kept, that their descriptors are not taken for others.
_abandoned: List[Any] = []
_abandoned_pipes: Set[Tuple[int, int]] = set()
_original_loop = _utils.worker._worker_loop
_original_init = _Iterator.__init__
_original_put = _Iterator._try_put_index
_original_reset = _Iterator._reset


def pipes() -> Set[Tuple[int, int]]:
    """Descriptors of pipes with their inodes, since numbers are used again."""
    found = set()
    for descriptor in descriptors():
        try:
            status = os.fstat(descriptor)
        except OSError:  # Another thread has closed it meanwhile.
            continue
        if stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode):
            found.add((descriptor, status.st_ino))
    return found


def worker_loop(*arguments: Any) -> None:
    """torch's own, with the two queues replaced where this process was forked from a leader."""
    record = _starting
    if record is not None:
        worker = arguments[10]
        tasks = IndexQueue(arguments[2], record.beginnings.get(worker))
        results = ResultQueue(arguments[3], tasks, record.states, worker)
        arguments = (*arguments[:2], tasks, results, *arguments[4:])
    _original_loop(*arguments)


def install(is_leader: Callable[[], bool]) -> None:
    """Patches torch once. Iterators that are made where `is_leader` is false are left alone."""
    if _utils.worker._worker_loop is worker_loop:
        return

    @functools.wraps(_original_init)
    def __init__(self: Any, loader: Any) -> None:
        global _starting
        if not is_leader():
            _original_init(self, loader)
            return
        before = pipes()
        _starting = _records[self] = LoaderRecord(loader)
        try:
            _original_init(self, loader)
        finally:
            _starting = None
        _records[self].pipes = pipes() - before

    @functools.wraps(_original_put)
    def _try_put_index(self: Any) -> None:
        record = _records.get(self)
        if record is None:
            _original_put(self)
            return
        number = self._send_idx

        def next_index() -> Any:
            index = type(self)._next_index(self)
            record.indices[number] = index
            return index

        self._next_index = next_index
        try:
            _original_put(self)
        finally:
            del self._next_index
        if self._send_idx > number:
            note_sent(self, record, number)

    @functools.wraps(_original_reset)
    def _reset(self: Any, loader: Any, first_iter: bool = False) -> None:
        record = _records.get(self)
        lengths = [len(tasks) for tasks in record.history] if record is not None else []
        _original_reset(self, loader, first_iter)
        if record is not None and record.is_iterable and not first_iter:
            for tasks, length in zip(record.history, lengths):
                tasks.insert(length, _utils.worker._ResumeIteration(self._shared_seed))

    _Iterator.__init__ = __init__
    _Iterator._try_put_index = _try_put_index
    _Iterator._reset = _reset
    _utils.worker._worker_loop = worker_loop


def note_sent(iterator: Any, record: LoaderRecord, number: int) -> None:
    worker = iterator._task_info[number][0]
    record.sent[worker] += 1
    if record.is_iterable:
        record.history[worker].append((number, record.indices[number]))
    for old in [n for n in record.indices if n < iterator._rcvd_idx]:
        del record.indices[old]


def known_descriptors() -> Set[int]:
    """Of loaders that have worker processes."""
    known = _abandoned_pipes.union(*(record.pipes for record in _records.values()))
    return {descriptor for descriptor, inode in known if inode_of(descriptor) == inode}


def inode_of(descriptor: int) -> Optional[int]:
    try:
        return os.fstat(descriptor).st_ino
    except OSError:
        return None


def known_children() -> Set[int]:
    return {worker.pid for iterator in _records for worker in iterator._workers}


def reason_against_copy() -> Optional[str]:
    for iterator, record in _records.items():
        if iterator._shutdown:
            continue
        if any(len(tasks) > HISTORY_MAX for tasks in record.history):
            return "an iterable dataset with worker processes has been read very far"
        if record.context.get_start_method() != "fork":
            return "worker processes of a data loader are not forks"
        if iterator._pin_memory:
            return "a data loader copies to a device in a thread"
    return None


def revive() -> int:
    """In a copy that wakes: new worker processes for all iterators. Returns for how many."""
    count = 0
    for iterator, record in list(_records.items()):
        if not iterator._shutdown:
            revive_iterator(iterator, record)
            count += 1
    return count


def revive_iterator(iterator: Any, record: LoaderRecord) -> None:
    global _starting
    outstanding: Dict[int, List[int]] = {worker: [] for worker in range(iterator._num_workers)}
    for number in sorted(iterator._task_info):
        info = iterator._task_info[number]
        if len(info) == 1:
            outstanding[info[0]].append(number)
    _abandoned.append((iterator._workers, iterator._index_queues, iterator._worker_result_queue))
    _abandoned_pipes.update(record.pipes)
    before = pipes()
    iterator._worker_result_queue = record.context.Queue()
    iterator._workers_done_event = record.context.Event()
    iterator._index_queues, iterator._workers = [], []
    record.beginnings = {
        worker: beginning_of(iterator, record, worker, numbers)
        for worker, numbers in outstanding.items()
    }
    _starting = record
    try:
        for worker in range(iterator._num_workers):
            start_worker(iterator, record, worker)
    finally:
        _starting = None
    record.pipes = pipes() - before
    iterator._data_queue = iterator._worker_result_queue
    signals = _utils.signal_handling
    signals._remove_worker_pids(id(iterator))
    signals._set_worker_pids(id(iterator), tuple(worker.pid for worker in iterator._workers))
    iterator._tasks_outstanding = sum(map(len, outstanding.values()))
    for worker, numbers in outstanding.items():
        for number in numbers:
            iterator._index_queues[worker].put((number, record.indices[number]))


def beginning_of(
    iterator: Any, record: LoaderRecord, worker: int, outstanding: List[int]
) -> Beginning:
    done = record.sent[worker] - len(outstanding)
    if not record.is_iterable:
        return Beginning(done, record.states.get(worker, done), [])
    history = record.history[worker]
    tasks = history[: len(history) - len(outstanding)]
    if not iterator._workers_status[worker] and not iterator._persistent_workers:
        tasks = [*tasks, None]  # It had come to the end of its samples, and left.
    return Beginning(done, None, tasks)


def start_worker(iterator: Any, record: LoaderRecord, worker: int) -> None:
    """As torch's iterator does when it is made."""
    queue = record.context.Queue()
    queue.cancel_join_thread()
    process = record.context.Process(
        target=_utils.worker._worker_loop,
        args=(iterator._dataset_kind, iterator._dataset, queue, iterator._worker_result_queue,
              iterator._workers_done_event, iterator._auto_collation, iterator._collate_fn,
              iterator._drop_last, iterator._base_seed, iterator._worker_init_fn, worker,
              iterator._num_workers, iterator._persistent_workers, iterator._shared_seed),
    )
    process.daemon = True
    process.start()
    iterator._index_queues.append(queue)
    iterator._workers.append(process)
