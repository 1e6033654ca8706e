"""What a forward may read and the leader may have changed since its replicas were forked.

A fingerprint is a flat list of what can be compared: identity and address of parameters and
buffers, children, hooks, plain attributes, containers some levels deep, and the global names and
closure cells that forward was seen to read, with what functions among them hold. A plain
attribute that changed is sent with the call; any other change needs new replicas.
"""

import collections
import functools
import gc
import os
import sys
import types
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy
import torch
from torch import nn

from rubato import _core
from rubato.split.memory import tensors_of

ATOMS = (int, float, bool, str, bytes, type(None), complex, torch.dtype, torch.device)
# Compared in their own way, or not read by forward.
HANDLED = {
    "_parameters", "_buffers", "_modules", "_backward_hooks", "_forward_hooks",
    "_forward_pre_hooks", "_state_dict_hooks", "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks", "_is_full_backward_hook", "_non_persistent_buffers_set",
}
# Hooks that torch's own weight normalisation registers: they read and write the module alone.
HARMLESS_HOOKS = ("WeightNorm", "SpectralNorm")
ITEMS_MAX = 64  # Of a container whose items are compared one by one.
DEPTH_MAX = 4
DEEP, ITEMS_MAX_DEEP = 2, 16  # From this depth on containers must be smaller.
LONG_MAX = 4096  # Items of a longer one of which only plain ones are compared.
ARRAY_MAX = 1 << 18  # Numbers of an array whose sum is compared.
TENSOR_MAX = 4096  # The same of a tensor that is not in shared memory.
FOREIGN_PACKAGES = ("torch", "numpy")
# Files below them are not the script's own.
LIBRARY_FOLDERS = (
    *(os.path.dirname(module.__file__) for module in (torch, numpy, os)),
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
)
SEES_SHARED_MEMORY = True  # Replicas are forks, which have it at the same address.


class Watched(NamedTuple):
    """A value outside the module that forward reads."""

    names: Any  # A dictionary of global names, or a closure cell.
    name: str

    def value(self) -> Any:
        if isinstance(self.names, types.CellType):
            return cell_contents(self.names)
        return self.names.get(self.name)


class AttributeChange(NamedTuple):
    """A plain attribute of a submodule that replicas must set."""

    module: int  # In the order of `module.modules()`.
    name: str
    value: Any


class Look(NamedTuple):
    """How close a look is: what tensors are told by, and whether numbers are told apart."""

    at_tensor: Any
    sees_numbers: bool = True


def shape_of(value: Any, depth: int = 0, look: Optional[Look] = None) -> Any:
    """Something that differs when the value has changed."""
    if isinstance(value, ATOMS):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return type(value) if look is not None and is_number and not look.sees_numbers else value
    if isinstance(value, torch.Tensor):
        return tensor_shape(value) if look is None else look.at_tensor(value)
    if isinstance(value, numpy.ndarray):
        is_small = value.size <= ARRAY_MAX and value.dtype.kind in "fiub"
        return (id(value), value.ctypes.data, value.size, float(value.sum()) if is_small else 0)
    if depth < DEPTH_MAX:
        inner = inner_values(value, depth)
        if inner is not None:
            return (type(value), id(value),
                    *[shape_of(item, depth + 1, look) for item in inner])
    kind = type(value)
    if kind is ScriptedAttributes:
        return value
    if kind is types.MethodType:  # Made anew whenever it is asked for.
        return (kind, id(value.__func__), id(value.__self__))
    if isinstance(value, (list, tuple, set, dict, collections.deque)) and len(value) <= LONG_MAX:
        items = value.values() if isinstance(value, dict) else value
        return (id(value), tuple([item if isinstance(item, ATOMS) else id(item)
                                  for item in items]))
    return (id(value), len(value)) if kind in (list, dict, set) else id(value)


def inner_values(value: Any, depth: int) -> Optional[List[Any]]:
    """What a value consists of, as far as that may change; nothing if it is told by identity."""
    kind = type(value)
    most = ITEMS_MAX if depth < DEEP else ITEMS_MAX_DEEP
    if kind in (list, tuple, set, collections.deque):
        return list(value) if len(value) <= most else None
    if isinstance(value, dict):
        return pairs_of(value) if len(value) <= most else None
    if kind is types.FunctionType:
        cells = [cell_contents(cell) for cell in value.__closure__ or ()]
        # A method's own class is among the cells if it says super().
        cells = [None if isinstance(one, type) else one for one in cells]
        return [*cells, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    if kind is functools.partial:
        return [value.func, *value.args, *value.keywords.values()]
    if kind is types.MethodType:
        return [value.__func__, value.__self__]
    if isinstance(value, nn.Module):
        return module_values(value)
    if isinstance(value, types.ModuleType):
        return namespace_values(vars(value)) if depth == 0 and is_own_file(value) else None
    if is_foreign(kind.__module__):
        return None
    if isinstance(value, type):
        is_own = not is_foreign(value.__module__) and value.__module__ != "builtins"
        return namespace_values(class_names(value)) if depth == 0 and is_own else None
    names = {**(getattr(value, "__dict__", None) or {}), **slots_of(value)}
    return pairs_of(names) if names and len(names) <= most else None


def slots_of(value: Any) -> dict:
    """What an object holds that has no dictionary for it."""
    found = {}
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name) and not name.startswith("__"):
                found[name] = getattr(value, name)
    return found


def pairs_of(names: dict) -> List[Any]:
    return [item for pair in list(names.items()) for item in pair]


def module_values(module: nn.Module) -> List[Any]:
    """Of a module that is used without being a child."""
    values: List[Any] = [*module.parameters(), *module.buffers()]
    for part in module.modules():
        values.extend(value for value in part.__dict__.values() if isinstance(value, ATOMS))
    return values


def namespace_values(names: dict) -> List[Any]:
    """Settings that a class or a file of the script holds."""
    return [item for name, value in list(names.items())
            if not name.startswith("__") and not callable(value)
            and not isinstance(value, (types.ModuleType, staticmethod, classmethod, property))
            for item in (name, value)]


def is_foreign(module_name: Any) -> bool:
    return str(module_name).partition(".")[0] in FOREIGN_PACKAGES


def is_own_file(module: types.ModuleType) -> bool:
    """Whether it belongs to the script, and not to a library."""
    path = getattr(module, "__file__", None)
    if path is None:
        return module.__name__.partition(".")[0] not in sys.stdlib_module_names
    packages = os.path.dirname(os.path.dirname(torch.__file__))
    return not path.startswith((*LIBRARY_FOLDERS, packages))


def cell_contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def tensor_shape(tensor: torch.Tensor) -> Any:
    if tensor.layout != torch.strided or tensor.is_inference():
        return id(tensor)
    # What lies in shared memory may change in place: forked replicas see it.
    is_seen = SEES_SHARED_MEMORY and tensor.device.type == "cpu" and tensor.is_shared()
    if is_seen:
        return (id(tensor), tensor.data_ptr(), 0, tensor.requires_grad)
    # What is changed through `data` keeps its version.
    is_small = tensor.numel() <= TENSOR_MAX and tensor.device.type == "cpu"
    return (id(tensor), tensor.data_ptr(), tensor._version, tensor.requires_grad,
            repr(sum_of(tensor.detach())) if is_small else "")


def sum_of(tensor: torch.Tensor) -> Any:
    """As a number of Python."""
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64).sum().item()


def hook_count(module: nn.Module) -> Tuple[int, int, int]:
    return (len(module._forward_hooks), len(module._forward_pre_hooks),
            len(module._backward_hooks))


def attributes_of(module: nn.Module) -> List[Tuple[str, Any]]:
    """What forward may read of a module, apart from tensors, children and hooks."""
    made = made_by_hooks(module)
    found = [(name, value) for name, value in module.__dict__.items()
             if name not in HANDLED and name not in made]
    if isinstance(module, torch.jit.ScriptModule):
        found.extend(scripted_attributes(module))
    return found


def made_by_hooks(module: nn.Module) -> Sequence[str]:
    """Attributes that weight normalisation makes of parameters at the beginning of each call."""
    return [hook.name for hook in module._forward_pre_hooks.values()
            if type(hook).__name__ in HARMLESS_HOOKS]


class ScriptedAttributes(tuple):
    """Their text, which is made anew whenever it is asked for; replicas cannot be told of it."""


def scripted_attributes(module: nn.Module) -> List[Tuple[str, Any]]:
    """A scripted module keeps its attributes outside of Python; as text they can be compared, apart
    from tensors, whose values change with every step."""
    core = module.__dict__.get("_c")
    return [] if core is None else [
        ("scripted", ScriptedAttributes([core.dump_to_str(False, False, False)]))]


class Fingerprint:
    """A module and what it reads, as it was at one moment."""

    def __init__(self, module: nn.Module, watched: Sequence[Watched] = ()) -> None:
        self.values = values_of(module, watched)
        self.watched = list(watched)
        # While they live nothing else can come to lie at their addresses.
        self.storages = [tensor.storage() for tensor in tensors_of(module)
                         if tensor.layout == torch.strided]
        # Attributes that replicas were told of since, by a root that shares modules with this one.
        self.told: Dict[Tuple[int, str], Any] = {}

    def changes(self, module: nn.Module) -> Optional[List[AttributeChange]]:
        """Plain attributes that have changed since; nothing if more than those has."""
        now = values_of(module, self.watched)
        if len(now) != len(self.values):
            return None
        if not self.told and all(map(is_same, now, self.values)):
            return []
        return self.attribute_changes(module, now)

    def attribute_changes(
        self, module: nn.Module, now: Sequence[Any]
    ) -> Optional[List[AttributeChange]]:
        changes = []
        at = len(self.watched)
        if not all(map(is_same, now[:at], self.values[:at])):
            return None
        for number, part in enumerate(module.modules()):
            for name, value in attributes_of(part):
                known = self.told.get((id(part), name), self.values[at])
                if not is_same(now[at], known):
                    if not isinstance(value, ATOMS):
                        return None
                    changes.append(AttributeChange(number, name, value))
                at += 1
            others = len(others_of(part))
            if not all(map(is_same, now[at:at + others], self.values[at:at + others])):
                return None
            at += others
        return changes


def script_classes(kind: type) -> List[type]:
    """A module's class and those that it derives from, as far as they are not a library's."""
    return [one for one in kind.__mro__
            if one.__module__.partition(".")[0] not in (*FOREIGN_PACKAGES, "builtins")]


def class_names(kind: type) -> dict:
    """The names of a class; what a class shows is only a view of them."""
    return gc.get_referents(kind.__dict__)[0]


def others_of(module: nn.Module) -> List[Any]:
    """What its classes define, children, hooks, parameters and buffers of one module."""
    found: List[Any] = class_shapes(type(module))
    found.extend(module._modules.values())
    found.append(hook_count(module))
    for parameter in module._parameters.values():
        if parameter is not None:
            found.append(parameter)
            found.append((address(parameter), parameter.requires_grad))
    for buffer in module._buffers.values():
        if buffer is not None:
            found.append(buffer)
            found.append(address(buffer))
    return found


def class_shapes(kind: type) -> List[Any]:
    """What the classes of a module define; their containers and functions may change inside."""
    return [tuple([shape_of(value, 1) if is_mutable_name(value) else id(value)
                   for value in class_names(one).values()])
            for one in script_classes(kind)]


def is_mutable_name(value: Any) -> bool:
    if type(value) is types.FunctionType:
        return value.__closure__ is not None or value.__defaults__ is not None
    return isinstance(value, (list, dict, set, torch.Tensor, functools.partial, numpy.ndarray))


def structure_of(module: nn.Module) -> List[Any]:
    """What a verdict on the module rests on besides its tensors: classes, children and hooks."""
    return [(id(part), hook_count(part), tuple(map(id, part._modules.values())),
             *(tuple(map(id, class_names(one).values())) for one in script_classes(type(part))))
            for part in module.modules()]


def meaning_of(module: nn.Module, watched: Sequence[Watched], sees_numbers: bool) -> List[Any]:
    """What a verdict rests on besides plain attributes: whatever may make forward another function.
    Tensors are told by identity: their values change all the time."""
    look = Look(id, sees_numbers)
    values = [shape_of(entry.value(), 0, look) for entry in watched]
    for part in module.modules():
        values.extend(shape_of(value, 0, look) for _, value in attributes_of(part)
                      if not isinstance(value, ATOMS))
    return values


def plain_attributes(module: nn.Module) -> List[Tuple[str, Any]]:
    """Names and values of all plain attributes of a module and those inside it."""
    return [(name, value) for part in module.modules()
            for name, value in part.__dict__.items()
            if name not in HANDLED and isinstance(value, ATOMS)]


def address(tensor: torch.Tensor) -> Any:
    if isinstance(tensor, nn.parameter.UninitializedTensorMixin):
        return None
    return tensor.data_ptr() if tensor.layout == torch.strided else id(tensor)


def values_of(module: nn.Module, watched: Sequence[Watched]) -> List[Any]:
    values = [shape_of(entry.value()) for entry in watched]
    for part in module.modules():
        for _, value in attributes_of(part):
            values.append(value if isinstance(value, ATOMS) else shape_of(value))
        values.extend(others_of(part))
    return values


def is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    return type(one) is type(other) and isinstance(one, (*ATOMS, tuple, type)) and one == other


class QuickCheck:
    """Whether nothing has changed, at a fraction of the cost: version tags of dictionaries, and
    a list of what can change without them."""

    def __init__(self, module: nn.Module, watched: Sequence[Watched]) -> None:
        dictionaries: List[dict] = []
        self.inner: List[Tuple[Any, Any]] = []
        self.of_classes: List[Tuple[Any, Any]] = []
        self.parameters: List[Tuple[torch.Tensor, int, bool]] = []
        self.buffers: List[Tuple[torch.Tensor, int]] = []
        self.watched = [(entry, shape_of(entry.value())) for entry in watched]
        self.is_possible = _core.split.DictTags.supported
        for part in module.modules():
            if isinstance(part, torch.jit.ScriptModule):
                self.is_possible = False  # Its attributes lie outside of Python.
                return
            self.add(part, dictionaries)
        self.tags = _core.split.DictTags(dictionaries)

    def add(self, part: nn.Module, dictionaries: List[dict]) -> None:
        dictionaries.append(part.__dict__)
        for one in script_classes(type(part)):
            dictionaries.append(class_names(one))
            self.of_classes.extend((value, shape_of(value, 1))
                                   for value in class_names(one).values()
                                   if is_mutable_name(value))
        for name, value in part.__dict__.items():
            if name in HANDLED:
                if isinstance(value, dict):
                    dictionaries.append(value)
            elif not is_immutable(value):
                self.inner.append((value, shape_of(value)))
        for parameter in part._parameters.values():
            if parameter is not None:
                self.parameters.append((parameter, address(parameter), parameter.requires_grad))
        for buffer in part._buffers.values():
            if buffer is not None:
                self.buffers.append((buffer, address(buffer)))

    def is_unchanged(self) -> bool:
        if not self.is_possible or not self.tags.unchanged():
            return False
        for parameter, where, requires_grad in self.parameters:
            if parameter.data_ptr() != where or parameter.requires_grad != requires_grad:
                return False
        for buffer, where in self.buffers:
            if buffer.data_ptr() != where:
                return False
        for value, shape in self.inner:
            if not is_same(shape_of(value), shape):
                return False
        for value, shape in self.of_classes:
            if not is_same(shape_of(value, 1), shape):
                return False
        return all(is_same(shape_of(entry.value()), shape) for entry, shape in self.watched)


def is_immutable(value: Any) -> bool:
    if isinstance(value, (*ATOMS, type, types.BuiltinFunctionType)):
        return True
    if type(value) is types.FunctionType:
        return not value.__closure__ and not value.__defaults__ and not value.__kwdefaults__
    return type(value) is tuple and all(isinstance(item, ATOMS) for item in value)
