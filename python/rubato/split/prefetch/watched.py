"""What a dataset is made of, watched for changes.

Rows that were fetched early, by a process that was forked earlier still, are right only if nothing
they came from has changed since. So everything that reading a row can reach is collected once: the
dictionaries of objects and classes (by CPython's version tags), lists (by their items), tensors (by
version counter and address), small arrays (by their bytes), closure cells and global names. What
cannot be watched soundly and cheaply is a reason not to fetch ahead.
"""

from __future__ import annotations

import collections
import datetime
import enum
import functools
import gc
import io
import os
import pathlib
import random
import re
import sys
import sysconfig
import types
from typing import Any

import numpy
import torch

from rubato._core import split

DEPTH_MAX = 12
OBJECTS_MAX = 200_000
TENSORS_MAX = 256
# Arrays up to this size, all together, are compared byte by byte at each batch.
ARRAY_BYTES_MAX = 1 << 16

# Objects of these types do not change.
_CONSTANTS = (
    int, float, complex, str, bytes, type(None), type(Ellipsis), slice, range, types.ModuleType,
    torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format, numpy.dtype,
    numpy.generic, enum.Enum, pathlib.PurePath, re.Pattern, datetime.date, datetime.time,
    datetime.timedelta, types.GenericAlias,
)
# What classes are made of, in C.
_DESCRIPTORS = (
    types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, type(collections.namedtuple("Pair", "first").first),
)
_GENERATORS = (
    torch.Generator, random.Random, numpy.random.Generator, numpy.random.RandomState,
    numpy.random.BitGenerator,
)
# Modules whose classes and functions do not change while a script runs.
_FOREIGN = {"builtins", "torch", "numpy", "abc", "typing", "collections", "functools", "enum"}
_LIBRARIES = tuple(
    os.path.realpath(path) + os.sep
    for path in (
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("platlib"),
        os.path.dirname(os.path.dirname(torch.__file__)),
        os.path.dirname(os.path.dirname(os.path.dirname(__file__))),
    )
)
_MISSING = object()
# Py_TPFLAGS_HEAPTYPE: classes that were made by a class statement.
_HEAP_TYPE = 1 << 9


def is_foreign(module: str | None) -> bool:
    """True for a module whose classes are taken to stay as they are."""
    return (module or "builtins").partition(".")[0] in _FOREIGN


def is_library(module: types.ModuleType) -> bool:
    """True for modules of Python and of installed packages."""
    return is_library_file(getattr(module, "__file__", None) or "<frozen>")


def is_library_file(path: str) -> bool:
    return path.startswith("<frozen") or os.path.realpath(path).startswith(_LIBRARIES)


def process_settings() -> tuple[object, ...]:
    """What else the value of a row may depend on."""
    try:
        folder = os.getcwd()
    except FileNotFoundError:
        folder = ""
    return torch.get_default_dtype(), folder


class Watched:
    """Everything that reading a row can reach. `reason` says why rows cannot be fetched ahead."""

    def __init__(self, dataset: Any):
        self.reason: str | None = None
        self._dicts: list[dict] = []
        self._lists: list[list] = []
        self._tensors: list[torch.Tensor] = []
        self._arrays: list[tuple[numpy.ndarray, bytes | None]] = []
        self._array_bytes = 0
        self._cells: list[tuple[types.CellType, object]] = []
        self._names: list[tuple[dict, str, object]] = []
        # Global names that collected functions see.
        self._namespaces: dict[int, dict] = {}
        # Objects that were looked at, which must live until all are: their ids tell them apart.
        self._seen: dict[int, object] = {}
        self._watched_classes: set[int] = set()
        self._collect(dataset, "the dataset", 0)
        self._mark()

    def add_names(self, namespace: int, names: list[str], attributes: list[str]) -> None:
        """Watches what reading a row looks up: names in the dictionary with this id, and attributes
        of those that are modules of the script."""
        dictionary = self._namespaces.get(namespace)
        if dictionary is None:
            modules = (vars(module) for module in list(sys.modules.values()))
            dictionary = next((found for found in modules if id(found) == namespace), None)
        if dictionary is None:
            self._refuse(f"it is unknown where reading a row finds {', '.join(names)}")
            return
        for name in names:
            value = dictionary.get(name, _MISSING)
            self._add_name(dictionary, name, value)
            if isinstance(value, types.ModuleType) and not is_library(value):
                for attribute in attributes:
                    if attribute in vars(value):
                        self._add_name(vars(value), attribute, vars(value)[attribute])
        self._mark()

    def _add_name(self, dictionary: dict, name: str, value: Any) -> None:
        self._names.append((dictionary, name, value))
        if value is not _MISSING:
            self._collect(value, f"the global name {name}", 0)

    def seal(self) -> None:
        """Ends collecting. The dataset itself is not kept alive from now on."""
        self._seen.clear()
        self._namespaces.clear()

    def has_changed(self) -> bool:
        """True if anything is not as it was when it was collected."""
        return not (
            self._tags.unchanged()
            and self._items.unchanged()
            and self._read_tensors() == self._versions
            and all(map(_holds, self._cells))
            and all(names.get(key, _MISSING) is value for names, key, value in self._names)
            and all(map(_is_same_array, self._arrays))
            and process_settings() == self._settings
        )

    def _mark(self) -> None:
        self._tags = split.DictTags(self._dicts)
        self._items = split.ListItems(self._lists)
        self._versions = self._read_tensors()
        self._settings = process_settings()

    def _read_tensors(self) -> list[tuple[int, int]]:
        return [(tensor._version, tensor.data_ptr()) for tensor in self._tensors]

    def _refuse(self, reason: str) -> None:
        self.reason = self.reason or reason

    def _collect(self, value: Any, name: str, depth: int) -> None:
        if self.reason or isinstance(value, _CONSTANTS) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if depth > DEPTH_MAX or len(self._seen) > OBJECTS_MAX:
            self._refuse(f"{name} is too large or too deep to be watched for changes")
        elif isinstance(value, torch.Tensor):
            self._collect_tensor(value, name)
        elif isinstance(value, numpy.ndarray):
            self._collect_array(value, name)
        elif isinstance(value, dict):
            self._dicts.append(value)
            items = ((f"{name}[{key!r:.40}]", item) for key, item in value.items())
            self._collect_items(items, depth)
            self._collect_attributes(value, name, depth)
        elif isinstance(value, (list, tuple, frozenset)):
            self._collect_sequence(value, name, depth)
        elif isinstance(value, type):
            self._collect_class(value, depth)
        elif not self._collect_callable(value, name, depth):
            self._collect_object(value, name, depth)

    def _collect_items(self, items: Any, depth: int) -> None:
        for name, item in items:
            if not isinstance(item, _CONSTANTS):
                self._collect(item, name, depth + 1)

    def _collect_tensor(self, tensor: torch.Tensor, name: str) -> None:
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.requires_grad:
            self._refuse(f"{name} is a tensor that requires gradients or is of another class")
        elif tensor.layout is not torch.strided or tensor.device.type != "cpu":
            self._refuse(f"{name} is a tensor that is not dense or not in main memory")
        elif len(self._tensors) == TENSORS_MAX:
            self._refuse(f"it holds more than {TENSORS_MAX} tensors; one large one would help")
        else:
            self._tensors.append(tensor)

    def _collect_array(self, array: numpy.ndarray, name: str) -> None:
        if array.dtype.hasobject:
            self._refuse(f"{name} is a NumPy array of Python objects")
        elif not _is_writable(array):
            self._arrays.append((array, None))
        elif self._array_bytes + array.nbytes > ARRAY_BYTES_MAX:
            self._refuse(
                f"{name} is a NumPy array that can be written, and nothing tells when it is; "
                "torch.from_numpy() of it, or array.setflags(write=False), would help"
            )
        else:
            self._array_bytes += array.nbytes
            self._arrays.append((array, array.tobytes()))

    def _collect_sequence(self, value: Any, name: str, depth: int) -> None:
        if type(value) is list:
            self._lists.append(value)
        elif isinstance(value, list):
            self._refuse(f"{name} is a list of another class")
        self._collect_items(((f"{name}[{index}]", item) for index, item in enumerate(value)), depth)
        self._collect_attributes(value, name, depth)

    def _collect_attributes(self, value: Any, name: str, depth: int) -> None:
        """The attributes of an object and what its class gives it."""
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            self._dicts.append(attributes)
            items = ((f"{name}.{key}", item) for key, item in attributes.items())
            self._collect_items(items, depth)
        self._collect_class(type(value), depth)

    def _collect_class(self, value: type, depth: int) -> None:
        for base in value.__mro__:
            if is_foreign(base.__module__) or id(base) in self._watched_classes:
                continue
            self._watched_classes.add(id(base))
            members = gc.get_referents(base.__dict__)[0]
            if not isinstance(members, dict):
                self._refuse(f"the class {base.__name__} cannot be watched for changes")
                return
            self._dicts.append(members)
            for key, member in members.items():
                function = getattr(member, "__func__", getattr(member, "fget", member))
                if isinstance(function, types.FunctionType) or not key.startswith("_"):
                    self._collect(function, f"{base.__name__}.{key}", depth + 1)

    def _collect_callable(self, value: Any, name: str, depth: int) -> bool:
        """False if it is not a function or something that wraps one."""
        if isinstance(value, types.FunctionType):
            self._namespaces[id(value.__globals__)] = value.__globals__
            for cell in value.__closure__ or ():
                content = _content(cell)
                self._cells.append((cell, content))
                self._collect(content, f"what {name} encloses", depth + 1)
            parts: tuple[Any, ...] = (value.__defaults__, value.__kwdefaults__, vars(value) or None)
        elif isinstance(value, types.MethodType):
            parts = value.__func__, value.__self__
        elif isinstance(value, functools.partial):
            parts = value.func, value.args, value.keywords
        elif isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType)):
            parts = (value.__self__,)
        elif type(value).__name__ == "_lru_cache_wrapper":
            parts = (value.__wrapped__,)
        else:
            return isinstance(value, _DESCRIPTORS)
        for part in parts:
            self._collect(part, f"what {name} uses", depth + 1)
        return True

    def _collect_object(self, value: Any, name: str, depth: int) -> None:
        kind = type(value)
        if isinstance(value, _GENERATORS):
            self._refuse(f"{name} is a generator of random numbers")
        elif isinstance(value, io.IOBase):
            self._refuse(f"{name} is an open file, whose position would be shared")
        elif not hasattr(value, "__dict__") or _has_hidden_state(kind):
            self._refuse(f"{name} is a {kind.__name__}, which cannot be watched for changes")
        else:
            self._collect_attributes(value, name, depth)


def _has_hidden_state(kind: type) -> bool:
    """True if objects keep something outside of their dictionary, in slots or in C."""
    native = next(base for base in kind.__mro__ if not base.__flags__ & _HEAP_TYPE)
    slots = (slot for base in kind.__mro__ for slot in vars(base).get("__slots__") or ())
    return native is not object or bool(set(slots) - {"__weakref__", "__dict__"})


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _holds(pair: tuple[types.CellType, object]) -> bool:
    return _content(pair[0]) is pair[1]


def _is_writable(array: Any) -> bool:
    """True if the array, or what it is a view of, can be written."""
    while isinstance(array, numpy.ndarray):
        if array.flags.writeable:
            return True
        array = array.base
    return isinstance(array, (bytearray, torch.Tensor))


def _is_same_array(pair: tuple[numpy.ndarray, bytes | None]) -> bool:
    array, before = pair
    return not array.flags.writeable if before is None else array.tobytes() == before
