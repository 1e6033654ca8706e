"""The tensors, optimizers and random numbers of a script at a step boundary, as bytes and back.

Tensors are known by name (object_graph.py) and by what memory they share. A tensor that overlaps
with no other one gets its values back whatever its layout; those that overlap get the bytes of
their memory back, and must overlap in the same way. What has not changed since the first call of a
root module, such as the training data, is not saved: the script has made it again, and a checksum
says whether it is the same.
"""

import ctypes
import hashlib
import pickle
import random
import weakref
import zlib
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy
import torch

from rubato.split.survival.object_graph import ObjectGraph
from rubato.split.survival.reads import ReplayDiffers

CHECKED_BYTES_MIN = 1 << 16  # Smaller ones are saved without asking whether they have changed.
ALIGNMENT = 64
LOADER = "loader"  # Names of what iterators of loaders hold begin with this.
GLOBAL_GENERATORS = (torch.default_generator, random._inst, numpy.random.mtrand._rand)


class CannotSave(Exception):
    """Why the state of a script cannot be given to another process."""


class TensorRecord(NamedTuple):
    """A tensor as it was found."""

    name: str
    shape: Tuple[int, ...]
    dtype: str
    stride: Tuple[int, ...]
    offset: int  # In its memory.
    memory: int  # Its place in the list of memories.


class MemoryRecord(NamedTuple):
    """Memory of one or several tensors."""

    size: int
    is_shared: bool  # By several tensors: saved as bytes; otherwise as the tensor's values.
    checksum: int  # Of what was not saved.
    begin: int  # In the saved bytes; -1: not saved.


class Memory(NamedTuple):
    """Of this process: tensors that overlap, by their place in the list of tensors."""

    begin: int
    end: int
    members: List[int]


def extent_of(tensor: torch.Tensor) -> Tuple[int, int]:
    begin = tensor.data_ptr()
    if tensor.numel() == 0:
        return begin, begin
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return begin, begin + (last + 1) * tensor.element_size()


def memories_of(tensors: List[torch.Tensor]) -> List[Memory]:
    """In the order of their first tensors."""
    extents = [extent_of(tensor) for tensor in tensors]
    found: List[Memory] = []
    for number in sorted(range(len(tensors)), key=lambda number: extents[number]):
        begin, end = extents[number]
        if found and begin < found[-1].end:
            last = found[-1]
            found[-1] = Memory(last.begin, max(last.end, end), [*last.members, number])
        else:
            found.append(Memory(begin, end, [number]))
    return sorted(found, key=lambda memory: min(memory.members))


def named_tensors(graph: ObjectGraph) -> List[Tuple[str, torch.Tensor]]:
    for name, tensor in graph.tensors:
        if tensor.device.type != "cpu" or tensor.layout != torch.strided or tensor.is_quantized:
            raise CannotSave(f"{name} is not a dense tensor in this machine's memory")
    return [(name, tensor.detach()) for name, tensor in graph.tensors]


def values_of(tensor: torch.Tensor) -> torch.Tensor:
    """As bytes; a view where that is possible."""
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    return tensor.detach().contiguous().view(-1).view(torch.uint8)


def raw(memory: Memory) -> torch.Tensor:
    """The bytes of a memory, where they lie."""
    size = memory.end - memory.begin
    if size == 0:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer((ctypes.c_ubyte * size).from_address(memory.begin), dtype=torch.uint8)


def checksum_of(data: torch.Tensor) -> int:
    return zlib.crc32(data.numpy().data) if data.numel() else 0


class Baseline:
    """What lay in memory at the first call of a root module."""

    def __init__(self, graph: ObjectGraph) -> None:
        self.checksums: Dict[str, int] = {}
        self.versions: Dict[str, Any] = {}
        for (name, tensor), (_, original) in zip(named_tensors(graph), graph.tensors):
            if tensor.numel() * tensor.element_size() >= CHECKED_BYTES_MIN:
                self.checksums[name] = checksum_of(values_of(tensor))
                self.versions[name] = version_of(original)

    def is_untouched(self, name: str, tensor: torch.Tensor) -> bool:
        """Nobody has written to it through torch. Where NumPy has, the script does so again, and
        the checksum says whether the same came out."""
        version = version_of(tensor)
        return version is not None and version == self.versions[name]


def version_of(tensor: torch.Tensor) -> Any:
    """Nothing for what is trained, which kernels of ours may change."""
    if tensor.requires_grad or tensor.is_inference():
        return None
    return tensor.data_ptr(), tensor._version, tuple(tensor.shape), tensor.stride()


class SavedTensors:
    """All tensors of a script. Pickled without their bytes, which are written apart."""

    def __init__(self, graph: ObjectGraph, baseline: Optional[Baseline]) -> None:
        self.memories: List[MemoryRecord] = []
        self.parts: List[torch.Tensor] = []
        self.bytes = 0
        found = named_tensors(graph)
        records: List[Any] = [None] * len(found)
        for number, memory in enumerate(memories_of([tensor for _, tensor in found])):
            self.add(memory, found, baseline)
            for member in memory.members:
                name, tensor = found[member]
                records[member] = TensorRecord(
                    name, tuple(tensor.shape), str(tensor.dtype), tensor.stride(),
                    tensor.data_ptr() - memory.begin, number)
        self.records: List[TensorRecord] = records

    def add(self, memory: Memory, found: List[Tuple[str, torch.Tensor]],
            baseline: Optional[Baseline]) -> None:
        is_shared = len(memory.members) > 1
        if baseline is not None:
            known = self.known_checksum(memory, found, baseline)
            if known is not None:
                self.memories.append(MemoryRecord(memory.end - memory.begin, is_shared, known, -1))
                return
        data = raw(memory) if is_shared else values_of(found[memory.members[0]][1])
        self.memories.append(MemoryRecord(data.numel(), is_shared, 0, self.bytes))
        self.parts.append(data)
        self.bytes += (data.numel() + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT

    @staticmethod
    def known_checksum(memory: Memory, found: List[Tuple[str, torch.Tensor]],
                       baseline: Baseline) -> Optional[int]:
        """Of a memory all of which one tensor spans that was there from the beginning and is as it
        was; nothing if it must be saved."""
        for member in memory.members:
            name, tensor = found[member]
            if name not in baseline.checksums or not tensor.is_contiguous():
                continue
            if extent_of(tensor) != (memory.begin, memory.end):
                continue
            checksum = baseline.checksums[name]
            if baseline.is_untouched(name, tensor) or checksum_of(values_of(tensor)) == checksum:
                return checksum
            return None
        return None

    def __getstate__(self) -> Any:
        return {"records": self.records, "memories": self.memories, "bytes": self.bytes}

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)
        self.parts = []

    def write_to(self, target: torch.Tensor) -> None:
        """Copies what is saved to a tensor of bytes."""
        saved = [memory for memory in self.memories if memory.begin >= 0]
        for memory, part in zip(saved, self.parts):
            target[memory.begin : memory.begin + memory.size].copy_(part)
        self.parts = []

    def restore(self, graph: ObjectGraph, source: torch.Tensor) -> None:
        """Gives the tensors of this process their values."""
        found = named_tensors(graph)
        here = memories_of([tensor for _, tensor in found])
        self.compare(found, here)
        for record, memory in zip(self.memories, here):
            name, tensor = found[memory.members[0]]
            data = raw(memory) if record.is_shared else values_of(tensor)
            if record.begin < 0:
                if checksum_of(data) != record.checksum:
                    raise ReplayDiffers(f"made {name} with other values than before")
                continue
            saved = source[record.begin : record.begin + record.size]
            with torch.no_grad():
                if record.is_shared:
                    data.copy_(saved)
                elif tensor.numel():
                    tensor.copy_(saved.clone().view(tensor.dtype).view(tensor.shape))

    def compare(self, found: List[Tuple[str, torch.Tensor]], here: List[Memory]) -> None:
        names = [record.name for record in self.records]
        if names != [name for name, _ in found]:
            other = set(names) ^ {name for name, _ in found}
            raise ReplayDiffers(f"has other tensors than before: {sorted(other)[:3]}")
        for record, (name, tensor) in zip(self.records, found):
            if record.shape != tuple(tensor.shape) or record.dtype != str(tensor.dtype):
                raise ReplayDiffers(
                    f"has {name} of shape {tuple(tensor.shape)}, not {record.shape}")
        members: List[List[int]] = [[] for _ in self.memories]
        for number, record in enumerate(self.records):
            members[record.memory].append(number)
        if members != [sorted(memory.members) for memory in here]:
            raise ReplayDiffers("has tensors that share memory in another way")
        for memory in here:
            for member in memory.members if len(memory.members) > 1 else ():
                record, (name, tensor) = self.records[member], found[member]
                place = (tensor.stride(), tensor.data_ptr() - memory.begin)
                if place != (record.stride, record.offset):
                    raise ReplayDiffers(f"has {name} elsewhere in memory")


class SavedOptimizers:
    """The states of all optimizers, in the order of their making."""

    def __init__(self, optimizers: List[Any]) -> None:
        self.states = [state_of(optimizer) for optimizer in optimizers]

    def restore(self, optimizers: List[Any]) -> None:
        if len(optimizers) != len(self.states):
            raise ReplayDiffers(f"has {len(optimizers)} optimizers, not {len(self.states)}")
        for optimizer, (kind, state) in zip(optimizers, self.states):
            if type(optimizer).__name__ != kind:
                raise ReplayDiffers(f"has a {type(optimizer).__name__} where it had a {kind}")
            parameters = parameters_of(optimizer)
            if any(isinstance(key, int) and key >= len(parameters) for key in state):
                raise ReplayDiffers("has an optimizer of fewer parameters")
            # In its place, since a step of an optimizer may be running and use it.
            merge(optimizer.state, {
                parameters[key] if isinstance(key, int) else key: value
                for key, value in state.items()})


def parameters_of(optimizer: Any) -> List[torch.Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def state_of(optimizer: Any) -> Tuple[str, Dict[Any, Any]]:
    numbers = {id(p): number for number, p in enumerate(parameters_of(optimizer))}
    state = {}
    for key, value in optimizer.state.items():
        if isinstance(key, torch.Tensor):
            if id(key) not in numbers:
                raise CannotSave("an optimizer has state of a parameter that it does not have")
            key = numbers[id(key)]
        state[key] = cloned(value)
    return type(optimizer).__name__, state


def merge(old: Any, new: Any) -> Any:
    """The new value, in the objects of the old one where they can hold it."""
    if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor):
        if old.shape == new.shape and old.dtype == new.dtype:
            with torch.no_grad():
                old.detach().copy_(new)
            return old
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in [key for key in old if key not in new]:
            del old[key]
        for key, value in new.items():
            old[key] = merge(old.get(key), value)
        return old
    elif type(old) is list and type(new) is list:
        old[:] = [merge(a, b) for a, b in zip(old, new)] + new[len(old) :]
        return old
    return new


def cloned(value: Any) -> Any:
    """With tensors that have their memory for themselves."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: cloned(entry) for key, entry in value.items()}
    if type(value) in (list, tuple):
        return type(value)(cloned(entry) for entry in value)
    return value


class SavedRandom:
    """The generators of torch, Python and NumPy, and those that the script has made."""

    def __init__(self, graph: Optional[ObjectGraph] = None) -> None:
        self.torch = torch.get_rng_state().numpy().tobytes()
        self.python = random.getstate()
        self.numpy = numpy.random.get_state()
        self.made = {name: state_of_generator(generator)
                     for name, generator in made_generators(graph).items()}

    def restore(self, graph: ObjectGraph) -> None:
        torch.set_rng_state(torch.frombuffer(bytearray(self.torch), dtype=torch.uint8))
        random.setstate(self.python)
        numpy.random.set_state(self.numpy)
        found = made_generators(graph)
        if found.keys() != self.made.keys():
            other = sorted(found.keys() ^ self.made.keys())
            raise ReplayDiffers(f"has other random generators than before: {other[:3]}")
        for name, generator in found.items():
            restore_generator(generator, self.made[name])

    def difference(self, other: "SavedRandom", with_torch: bool) -> Optional[str]:
        if self.python != other.python:
            return "Python's random numbers"
        if pickle.dumps(self.numpy) != pickle.dumps(other.numpy):
            return "NumPy's random numbers"
        if with_torch and self.torch != other.torch:
            return "torch's random numbers"
        return None


def made_generators(graph: Optional[ObjectGraph]) -> Dict[str, Any]:
    """Those of the script. One that only a loader's iterator holds may be ahead of the script."""
    return {} if graph is None else {
        name: generator for name, generator in graph.generators.items()
        if not name.startswith(LOADER)
        and all(generator is not other for other in GLOBAL_GENERATORS)}


def state_of_generator(generator: Any) -> Any:
    if isinstance(generator, torch.Generator):
        return generator.get_state().numpy().tobytes()
    if isinstance(generator, numpy.random.Generator):
        return generator.bit_generator.state
    return generator.getstate() if isinstance(generator, random.Random) else generator.get_state()


def restore_generator(generator: Any, state: Any) -> None:
    if isinstance(generator, torch.Generator):
        generator.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
    elif isinstance(generator, numpy.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    else:
        generator.set_state(state)


def hash_of(modules: List["weakref.ref[Any]"]) -> str:
    """Of the parameters and buffers of root modules."""
    digest = hashlib.blake2b(digest_size=16)
    for reference in modules:
        module = reference()
        for tensor in (*module.parameters(), *module.buffers()) if module is not None else ():
            if tensor.device.type == "cpu" and tensor.layout == torch.strided:
                digest.update(values_of(tensor).numpy().data)
    return digest.hexdigest()
