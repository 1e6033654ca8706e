"""Finds the tensors of a script by name: from its globals and the variables of its functions.

The same script at the same step has the same objects under the same names, so that a tensor found
here can be given its value in another process that has come to the same place. Whatever cannot be
named, such as what is only held by an iterator in the middle of an expression, is counted: then
nobody can say that all is found.
"""

import collections
import functools
import gc
import io
import itertools
import marshal
import os
import random
import sys
import types
import weakref
import zlib
from typing import Any, Dict, Iterable, Iterator, List, Set, Tuple

import numpy
import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

from rubato.split.part import GRAD

OBJECTS_MAX = 2_000_000

_ATOMS = (str, bytes, bytearray, int, float, complex, type(None), type(Ellipsis), numpy.generic,
          torch.dtype, torch.device, torch.Size, torch.layout)
# A tensor of the profiler is the address of something.
_OPAQUE = (types.ModuleType, types.CodeType, types.BuiltinFunctionType, weakref.ReferenceType,
           io.IOBase, set, frozenset, types.FrameType, types.TracebackType, property,
           torch.autograd.profiler.record_function)
_ITERATORS = (types.GeneratorType, zip, enumerate, map, filter, reversed,
              *(type(iter(kind())) for kind in (tuple, list, dict)),
              *(kind for kind in vars(itertools).values() if isinstance(kind, type)))
_LIBRARY_STATE = ("logging", "threading", "_thread", "re", "multiprocessing", "concurrent",
                  "warnings", "_io", "asyncio", "importlib", "queue")
_PLAIN = (int, bool, float, str, type(None))
_COLLECTIONS = (list, tuple, set, frozenset, collections.deque)
_ADDRESS_MIN = 1 << 40  # Larger whole numbers are addresses, times or hashes.
BATCHES_OF_WORKERS = "_task_info"  # Of a loader: those that came early, by chance.
GENERATORS = (torch.Generator, random.Random, numpy.random.Generator, numpy.random.RandomState)
ARRAY_BYTES_MAX = 1 << 20  # Larger arrays of NumPy are not compared.
TEXT_MAX = 64  # Longer texts are compared by checksum.
Named = Tuple[str, Any]


class CannotName(Exception):
    """Why the tensors of a script cannot be found."""


def script_modules() -> List[types.ModuleType]:
    """The program, and what it has imported from its own folder."""
    main, folder = sys.modules["__main__"], script_folder()
    return [main, *(module for name, module in sorted(sys.modules.items())
                    if module is not main and is_in_folder(name, module, folder))]


def is_in_folder(name: str, module: Any, folder: str) -> bool:
    file = getattr(module, "__file__", None)
    return (isinstance(file, str) and os.path.abspath(file).startswith(folder + os.sep)
            and "-packages" not in file and not is_ours(name))


def script_folder() -> str:
    main = sys.modules["__main__"]
    return os.path.dirname(os.path.abspath(getattr(main, "__file__", None) or sys.argv[0] or "."))


def is_script_name(name: str) -> bool:
    """Whether a module is the program, or of its own folder."""
    return name == "__main__" or is_in_folder(name, sys.modules.get(name), script_folder())


def is_ours(name: Any) -> bool:
    return isinstance(name, str) and (name == "rubato" or name.startswith("rubato."))


def script_frames() -> List[types.FrameType]:
    """From the outermost function to the one that is running, without ours."""
    found = []
    frame = sys._getframe(1)
    while frame is not None:
        if not is_ours(frame.f_globals.get("__name__")):
            found.append(frame)
        frame = frame.f_back
    return found[::-1]


def is_address(value: Any) -> bool:
    return type(value) is int and abs(value) >= _ADDRESS_MIN


def short(value: Any) -> Any:
    """Equal for equal values, also where they are not equal to themselves, as NaN is."""
    if type(value) is str and len(value) > TEXT_MAX:
        return checksum([value])
    return value if value == value else repr(value)


def checksum(values: Iterable[Any]) -> int:
    """Of plain values; those of a set come in no certain order."""
    if isinstance(values, (set, frozenset)):
        values = sorted(values, key=lambda value: (str(type(value)), repr(value)))
    plain = [0 if is_address(value) else value for value in values]
    return zlib.crc32(marshal.dumps(plain, 2))  # Later versions depend on who else holds a value.


class ObjectGraph:
    """All tensors that can be named, in a fixed order, and all plain values of the script."""

    def __init__(self, more: Iterable[Named] = ()) -> None:
        self.tensors: List[Tuple[str, torch.Tensor]] = []
        self.values: Dict[str, Any] = {}  # Numbers and texts, and checksums of larger ones.
        self.generators: Dict[str, Any] = {}  # Of random numbers.
        self.modules = script_modules()
        self.names = {module.__name__ for module in self.modules}
        self.seen: Set[int] = set()
        self.kept: List[Any] = []  # Objects made while looking, whose addresses must stay taken.
        self.seen.update(id(vars(module)) for module in list(sys.modules.values())
                         if isinstance(module, types.ModuleType) and module not in self.modules)
        for module in self.modules:
            self.walk(module.__name__, vars(module), True)
        for number, frame in enumerate(script_frames()):
            if frame.f_locals is not frame.f_globals:
                self.walk(f"{number}:{frame.f_code.co_name}", dict(frame.f_locals), True)
        for name, value in more:
            self.walk(name, value, False)

    def walk(self, name: str, value: Any, is_script: bool) -> None:
        self.kept.append(value)
        stack = [(name, value, is_script)]
        while stack:
            name, value, is_script = stack.pop()
            kind = type(value)  # Not isinstance: some objects compute their class.
            if issubclass(kind, GENERATORS):
                if id(value) not in self.seen:
                    self.seen.add(id(value))
                    self.generators[name] = value
                continue
            if issubclass(kind, _ATOMS):
                if is_script and kind in _PLAIN and not is_address(value):
                    self.values[name] = short(value)
                continue
            if is_script and kind in _COLLECTIONS and all(type(v) in _PLAIN for v in value):
                if id(value) not in self.seen and kind is not dict:
                    self.seen.add(id(value))
                    self.values[name] = checksum(value)
                    continue
            if id(value) in self.seen or issubclass(kind, _OPAQUE):
                continue
            if is_script and kind is numpy.ndarray and value.nbytes <= ARRAY_BYTES_MAX:
                if value.dtype.kind in "biufc":
                    self.values[name] = zlib.crc32(numpy.ascontiguousarray(value).data)
            self.seen.add(id(value))
            if len(self.seen) > OBJECTS_MAX:
                raise CannotName(f"the script has more than {OBJECTS_MAX} Python objects")
            if issubclass(kind, torch.Tensor):
                self.tensors.append((name, value))
            is_script = self.is_script_data(value, is_script)
            children = [(f"{name}.{label}", child, is_script)
                        for label, child in self.children(value)]
            stack.extend(reversed(children))

    def add_iterators(self, known: Set[int]) -> None:
        """Names what only an iterator holds, such as that of a `for` loop over several datasets. It
        is named by the tensors that it holds, so two that hold the same cannot be told apart."""
        candidates = [value for value in gc.get_objects()
                      if issubclass(type(value), _ITERATORS) and id(value) not in self.seen | known]
        before = len(self.tensors)
        for iterator in candidates:
            begin = len(self.tensors)
            self.walk("", iterator, False)
            found = self.tensors[begin:]
            del self.tensors[begin:]
            if not found:
                continue
            key = repr([(name, tuple(t.shape), str(t.dtype)) for name, t in found])
            label = f"{type(iterator).__name__}-{zlib.crc32(key.encode()):08x}"
            self.tensors.extend((label + name, tensor) for name, tensor in found)
        names = [name for name, _ in self.tensors[before:]]
        if len(set(names)) < len(names):
            raise CannotName("two loops run over tensors of the same shapes")
        self.tensors[before:] = sorted(self.tensors[before:], key=lambda named: named[0])

    def is_script_data(self, value: Any, is_in_script: bool) -> bool:
        """Numbers in objects of libraries may depend on the time, but not those in modules; and
        what is of one of the script's own classes is the script's wherever it lies."""
        kind = type(value)
        if issubclass(kind, torch.nn.Module) or kind.__module__ in self.names:
            return True
        return is_in_script and kind in (dict, list, tuple, collections.OrderedDict)

    def children(self, value: Any) -> Iterator[Named]:
        kind = type(value)
        if issubclass(kind, type):
            if value.__module__ in self.names:
                yield from self.named(vars(value))
            return
        if is_ours(kind.__module__) or kind.__module__.partition(".")[0] in _LIBRARY_STATE:
            return
        if issubclass(kind, torch.Tensor):
            gradient = GRAD.__get__(value) if value.is_leaf else None
            if gradient is not None:
                yield "grad", gradient
        elif issubclass(kind, torch.optim.Optimizer):
            # The state is saved by itself; see saved_state.py.
            yield "param_groups", value.param_groups
            return
        elif issubclass(kind, dict):
            yield from self.named(value)
        elif issubclass(kind, (list, tuple, collections.deque)):
            yield from ((str(i), child) for i, child in enumerate(value))
        elif issubclass(kind, types.FunctionType):
            yield from self.of_function(value)
        elif issubclass(kind, types.MethodType):
            yield "self", value.__self__
        elif issubclass(kind, numpy.ndarray):
            return
        elif issubclass(kind, _BaseDataLoaderIter):
            yield from self.named({name: child for name, child in vars(value).items()
                                   if name != BATCHES_OF_WORKERS})
            return
        elif names_of(value) is None:
            yield from ((f"ref{i}", child) for i, child in enumerate(gc.get_referents(value))
                        if not issubclass(type(child), type))
        yield from self.named(names_of(value) or {})

    def named(self, names: Any) -> Iterator[Named]:
        for number, (key, child) in enumerate(list(names.items())):
            if isinstance(key, (str, int)):
                if not (isinstance(key, str) and key.startswith("__")):
                    yield str(key), child
            else:
                yield f"key{number}", key
                yield f"value{number}", child

    def of_function(self, function: types.FunctionType) -> Iterator[Named]:
        for number, cell in enumerate(function.__closure__ or ()):
            try:
                yield f"cell{number}", cell.cell_contents
            except ValueError:
                continue  # Not set yet.
        yield "defaults", function.__defaults__
        yield "kwdefaults", function.__kwdefaults__


def held_by_us(others: Iterable[Any]) -> Set[int]:
    """Addresses of what Rubato's own objects hold, and these others, without what lies behind an
    object of the script or of a library."""
    plain = (list, tuple, dict, collections.deque, types.CellType, types.FunctionType,
             types.MethodType, functools.partial)
    seen = {id(vars(module)) for module in list(sys.modules.values())
            if isinstance(module, types.ModuleType)}
    stack = [*others, *(value for value in gc.get_objects() if is_ours(type(value).__module__))]
    while stack:
        value = stack.pop()
        kind = type(value)
        if id(value) in seen or issubclass(kind, (type, types.ModuleType, types.FrameType)):
            continue
        seen.add(id(value))
        if issubclass(kind, plain) or is_ours(kind.__module__):
            stack.extend(gc.get_referents(value))
    return seen


def names_of(value: Any) -> Any:
    try:
        names = value.__dict__
    except Exception:  # Of an object that computes its attributes.
        return None
    return names if isinstance(names, dict) else None


def profiler_handles() -> List[Any]:
    """Tensors that are no data."""
    return [vars(value) for value in gc.get_objects()
            if type(value) is torch.autograd.profiler.record_function]


def all_tensors() -> List[torch.Tensor]:
    """Those that the collector knows, which are all that Python objects hold."""
    return [value for value in gc.get_objects() if issubclass(type(value), torch.Tensor)]
