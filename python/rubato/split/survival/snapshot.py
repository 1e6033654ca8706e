"""A script at a step boundary, as bytes that another process can go on from.

The bytes are a header, pickled, and then the saved memory. What cannot be saved or replayed does
not prevent a snapshot: it says why, and a process that starts from it computes everything again.
"""

import hashlib
import pickle
import struct
import sys
from typing import Any, Dict, List, Optional, Set

import torch

from rubato.split.survival import loader_workers, object_graph, output
from rubato.split.survival.job_files import FileState, JobFiles, OpenFileState, open_states
from rubato.split.survival.object_graph import ObjectGraph, CannotName
from rubato.split.survival.open_files import OpenFiles, UnsafeDescriptor, flush_files
from rubato.split.survival.recorder import History, Recorder
from rubato.split.survival.saved_state import (ALIGNMENT, LOADER, Baseline, CannotSave,
                                               SavedOptimizers, SavedRandom, SavedTensors, hash_of)

VERSION = 2

_HEAD = struct.Struct("=8sQQ")  # Mark, length of the header, begin of the saved memory.
_MARK = b"rubatoS1"


class Snapshot:
    """All but the saved memory, which is in `memory` after loading."""

    version = VERSION

    def __init__(self, controller: Any) -> None:
        self.step: int = controller.steps.count
        self.history = History()
        self.why_not = ""  # It cannot be replayed.
        self.program = program_hash()
        self.output: Dict[str, int] = output.marks()
        self.files: Dict[str, FileState] = {}
        self.open_files: List[OpenFileState] = []
        self.tensors: Optional[SavedTensors] = None
        self.optimizers: Optional[SavedOptimizers] = None
        self.random: Optional[SavedRandom] = None
        self.values: Dict[str, Any] = {}
        self.warned: List[Any] = []  # See warned.py.
        self.timings: List[Any] = []  # Of root modules: with them it is decided what is shared.
        self.parameter_hash = ""
        self.memory: Any = None

    def __getstate__(self) -> Any:
        return {**self.__dict__, "memory": None}


def program_hash() -> str:
    """Of the script's text; another script has another history."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    try:
        with open(file or sys.argv[0], "rb") as script:
            return hashlib.blake2b(script.read(), digest_size=16).hexdigest()
    except OSError:
        return ""


def graph_of(recorder: Recorder) -> ObjectGraph:
    """All that can be named; what loops run over is not among their variables."""
    recorder.controller.gradient_areas.settle()
    roots = [(f"root{number}", root()) for number, root in enumerate(recorder.roots)]
    loaders = [(f"{LOADER}{number}", loader()) for number, loader in enumerate(recorder.loaders)]
    graph = ObjectGraph([*roots, *loaders])
    known = known_tensors(recorder)
    if unnamed(graph, known):
        graph.add_iterators(known)
    return graph


def known_tensors(recorder: Recorder) -> Set[int]:
    """Addresses of what is ours or a library's, and of optimizers' states, saved by themselves."""
    states = [optimizer.state for optimizer in list(recorder.controller.steps.numbers)]
    early = [vars(loader()).get(object_graph.BATCHES_OF_WORKERS) for loader in recorder.loaders
             if loader() is not None]
    return object_graph.held_by_us([*states, *early, *object_graph.profiler_handles()])


def unnamed(graph: ObjectGraph, known: Set[int]) -> List[torch.Tensor]:
    """Tensors that the script may use and that we cannot name."""
    known = known | graph.seen
    tensors = object_graph.all_tensors()
    # A tensor that is used through a view of it only is found through the view.
    known |= {id(tensor._base) for tensor in tensors if id(tensor) in known and tensor._is_view()}
    return [tensor for tensor in tensors if id(tensor) not in known]


def take(recorder: Recorder, files: JobFiles, baseline: Optional[Baseline],
         known_descriptors: Any) -> bytearray:
    """A snapshot of this process, now."""
    return recorder.outside(lambda: take_now(recorder, files, baseline, known_descriptors))


def take_now(recorder: Recorder, files: JobFiles, baseline: Optional[Baseline],
             known_descriptors: Any) -> bytearray:
    output.flush()
    flush_files()
    snapshot = Snapshot(recorder.controller)
    snapshot.why_not = recorder.history.why_not
    if not files.is_complete:
        snapshot.why_not = "the script has written too many files"
    try:
        opened = OpenFiles(known_descriptors | loader_workers.known_descriptors())
        snapshot.open_files = open_states(opened)
    except UnsafeDescriptor as error:
        snapshot.why_not = str(error)
    snapshot.files = files.states(snapshot.open_files)
    if not snapshot.why_not:
        try:
            add_state(snapshot, recorder, baseline)
        except (CannotSave, CannotName) as error:
            snapshot.why_not = str(error)
            snapshot.tensors = None
    return packed(snapshot)


def add_state(snapshot: Snapshot, recorder: Recorder, baseline: Optional[Baseline]) -> None:
    graph = graph_of(recorder)
    missing = unnamed(graph, known_tensors(recorder))
    if missing:
        shapes = ", ".join(str(tuple(tensor.shape)) for tensor in missing[:3])
        raise CannotSave(f"{len(missing)} tensors are held where they cannot be named, of shapes "
                         f"{shapes}")
    snapshot.history = recorder.history
    snapshot.tensors = SavedTensors(graph, baseline)
    snapshot.optimizers = SavedOptimizers(optimizers_of(recorder))
    snapshot.random = SavedRandom(graph)
    snapshot.values = graph.values
    snapshot.timings = [(root.timed, root.seconds) if root is not None else None
                        for root in roots_of(recorder)]
    snapshot.warned = recorder.warned.saved()
    snapshot.parameter_hash = hash_of(recorder.roots)


def roots_of(recorder: Recorder) -> List[Any]:
    """The controller's objects of root modules, in the order of their first calls."""
    roots = recorder.controller.roots
    return [roots.get(id(module())) if module() is not None else None for module in recorder.roots]


def optimizers_of(recorder: Recorder) -> List[Any]:
    numbers = recorder.controller.steps.numbers
    return sorted(numbers, key=lambda optimizer: numbers[optimizer])


def packed(snapshot: Snapshot) -> bytearray:
    header = pickle.dumps(snapshot, pickle.HIGHEST_PROTOCOL)
    begin = (_HEAD.size + len(header) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    size = snapshot.tensors.bytes if snapshot.tensors is not None else 0
    data = bytearray(begin + max(size, 1))
    _HEAD.pack_into(data, 0, _MARK, len(header), begin)
    data[_HEAD.size : _HEAD.size + len(header)] = header
    if snapshot.tensors is not None:
        snapshot.tensors.write_to(torch.frombuffer(data, dtype=torch.uint8, offset=begin))
    return data


def unpacked(data: bytes) -> Optional[Snapshot]:
    """Nothing if the bytes are not a snapshot of this version."""
    if len(data) < _HEAD.size:
        return None
    mark, length, begin = _HEAD.unpack_from(data)
    if mark != _MARK:
        return None
    snapshot = pickle.loads(memoryview(data)[_HEAD.size : _HEAD.size + length])
    snapshot.memory = torch.frombuffer(bytearray(data[begin:]), dtype=torch.uint8)
    return snapshot
