"""Whether a forward, or its backward, does anything besides computing outputs and gradients.

Runs in a forked child, on private copies of parameters and buffers.
"""

import dis
import gc
import io
import os
import random
import sys
import types
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy
import torch
from torch import nn

from rubato.split.batch_norm import BatchNorm
from rubato.split.fingerprint import (HARMLESS_HOOKS, LIBRARY_FOLDERS, Watched, is_own_file,
                                      is_same, values_of)


class GlobalRead(NamedTuple):
    """A global name that forward reads: the module it belongs to, and the name."""

    module: str
    name: str


def why_hooked(module: nn.Module) -> Optional[str]:
    for part in module.modules():
        pre_hooks = [type(hook).__name__ for hook in part._forward_pre_hooks.values()]
        if part._forward_hooks or part._backward_hooks or not all(
                name in HARMLESS_HOOKS for name in pre_hooks):
            return f"{type(part).__name__} has hooks, which would see parts of the batch"
    return None


def make_private(module: nn.Module) -> None:
    """The leader's parameters and buffers must not change by what is tried here."""
    for parameter in module.parameters():
        if parameter.is_shared():
            parameter.data = parameter.data.clone()
    for part in module.modules():
        for name, buffer in part._buffers.items():
            if buffer is not None and buffer.is_shared():
                part._buffers[name] = buffer.clone()


def is_synchronised(part: nn.Module) -> bool:
    """Whether it is a layer that normalises by all parts. One of a class of the script's with a
    forward of its own may normalise by whatever it likes, and is like any other module."""
    return (isinstance(part, BatchNorm) and type(part).forward is BatchNorm.forward
            and "forward" not in part.__dict__)


def batch_norms(module: nn.Module) -> List[Any]:
    """Layers whose statistics are synchronised, so that their buffers may change."""
    return [part for part in module.modules()
            if is_synchronised(part) and part.training and part.running_mean is not None]


def norms_without_statistics(module: nn.Module) -> List[Any]:
    """Layers that normalise by the batch at hand, also in evaluation."""
    return [part for part in module.modules()
            if is_synchronised(part) and part.running_mean is None]


def fix_statistics(layer: Any) -> None:
    """From now on the layer treats every sample alike."""
    layer.eval()
    if layer.running_mean is None:
        dtype = layer.weight.dtype if layer.weight is not None else torch.get_default_dtype()
        layer.running_mean = torch.zeros(layer.num_features, dtype=dtype)
        layer.running_var = torch.ones(layer.num_features, dtype=dtype)


class State:
    """What a forward might change."""

    def __init__(self, module: nn.Module, watched: Sequence[Watched]) -> None:
        own = {id(buffer) for part in batch_norms(module) for buffer in part._buffers.values()}
        # Through `data`, and by some of torch's operators, values change and versions do not.
        self.parameters = [(p, p.detach().clone()) for p in module.parameters()]
        self.buffers = [(name, buffer, buffer.clone())
                        for name, buffer in module.named_buffers() if id(buffer) not in own]
        # Memory that is free may be used again: what is replaced would look the same.
        self.kept = [held_by(value) for part in module.modules()
                     for value in part.__dict__.values()]
        self.kept += [p.data for p in module.parameters()]
        self.watched = watched
        self.values = values_of(module, watched)
        self.random = random.getstate()
        self.numpy = numpy.random.get_state()[1].copy()

    def change(self, module: nn.Module) -> Optional[str]:
        """What has changed since, in words."""
        if not all(has_same_values(parameter, value) for parameter, value in self.parameters):
            return "forward changes parameters"
        now = dict(module.named_buffers())
        for name, buffer, value in self.buffers:
            if now.get(name) is not buffer:
                return f"forward replaces the buffer {name}"
            if not has_same_values(buffer, value):
                return f"forward changes the buffer {name}"
        values = values_of(module, self.watched)
        for entry, before, after in zip(self.watched, self.values, values):
            if not is_same(before, after):
                return f"forward changes the global name {entry.name}"
        if len(values) != len(self.values) or not all(map(is_same, values, self.values)):
            return "forward changes attributes of the module"
        if random.getstate() != self.random:
            return "forward draws from Python's random numbers"
        if not numpy.array_equal(numpy.random.get_state()[1], self.numpy):
            return "forward draws from NumPy's random numbers"
        return None


def held_by(value: Any) -> Any:
    """A value, or what a container has now."""
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, (list, tuple, set)) else value


def has_same_values(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return torch.equal(one, other) or bool(
        ((one == other) | ((one != one) & (other != other))).all())  # Those that are no number.


def containers() -> List[Tuple[Any, int]]:
    gc.collect()
    gc.unfreeze()  # What the script made before the fork is not listed otherwise.
    found = [(one, len(one)) for one in gc.get_objects() if type(one) in (list, dict, set)]
    gc.freeze()  # Nor are its finalizers to run here.
    return found


def grown_container(before: Sequence[Tuple[Any, int]], ours: Sequence[Any]) -> Optional[str]:
    own = {id(one) for one in ours}
    for container, size in before:
        if len(container) != size and id(container) not in own:
            kind = type(container).__name__
            if kind == "dict" and "__builtins__" in container:
                return "forward makes a global name"
            return f"forward changes a {kind} of the program ({size} to {len(container)} items)"
    return None


class Profile:
    """Which names the script's own functions read and write during a run, and what it prints."""

    def __init__(self) -> None:
        self.prints = False  # Or writes to a file.
        self.reads: Set[GlobalRead] = set()
        self.watched: List[Watched] = []
        self.writes: Set[str] = set()
        self.seen: Set[types.CodeType] = set()

    def __call__(self, frame: Any, event: str, function: Any) -> None:
        if event == "c_call":
            self.prints = self.prints or is_output(function)
        code = frame.f_code
        if event != "call" or code in self.seen:
            return
        self.seen.add(code)
        if code.co_filename.startswith(LIBRARY_FOLDERS) or code.co_filename.startswith("<"):
            return
        module = frame.f_globals.get("__name__", "")
        for instruction in dis.get_instructions(code):
            if instruction.opname == "LOAD_GLOBAL":
                self.add_read(module, instruction.argval, frame.f_globals)
            elif instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                self.writes.add(instruction.argval)

    def add_read(self, module: str, name: str, names: Any) -> None:
        value = names.get(name, self)
        is_library = isinstance(value, types.ModuleType) and not is_own_file(value)
        if value is not self and not is_library and GlobalRead(module, name) not in self.reads:
            self.reads.add(GlobalRead(module, name))
            self.watched.append(Watched(names, name))

    def watch(self, run: Callable[[], Any]) -> None:
        sys.setprofile(self)
        try:
            run()
        finally:
            sys.setprofile(None)


def is_output(function: Any) -> bool:
    """Whether a function in C writes to a stream or a file."""
    if function in (print, os.write):
        return True
    owner = getattr(function, "__self__", None)
    return (isinstance(owner, io.IOBase) and not isinstance(owner, (io.StringIO, io.BytesIO))
            and function.__name__ in ("write", "writelines"))


def find_effects(
    module: nn.Module, run: Callable[[], Any]
) -> Tuple[Optional[str], List[GlobalRead]]:
    """Why a run, forward and backward, cannot be repeated at will, if so; and what it reads."""
    run()  # What is made at the first calls is no effect.
    run()
    profile = Profile()
    profile.watch(run)
    state = State(module, profile.watched)
    if profile.writes:
        return f"forward writes the global name {sorted(profile.writes)[0]}", []
    if profile.prints:
        return "forward prints, or writes to a file", []
    run()
    before = containers()
    run()
    why = grown_container(before, (before, state.values, state.buffers, state.parameters,
                                   state.kept))
    del before
    return state.change(module) or why, sorted(profile.reads)
