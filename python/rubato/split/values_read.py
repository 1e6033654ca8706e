"""What a module's forward reads besides the module: the environment, closure cells, and the global
names that a rehearsal saw it read."""

import os
import sys
import types
from typing import Any, Dict, Iterator, Optional, Sequence

from torch import nn

from rubato.split.fingerprint import Watched

ENVIRONMENT = {"environ", "getenv"}


def values_read(module: nn.Module, reads: Sequence[Any]) -> Iterator[Watched]:
    if any(reads_environment(type(part)) for part in module.modules()):
        yield Watched(vars(os), "environ")
    for part in module.modules():
        for cell in closure_of(type(part)):
            yield Watched(cell, "")
    for read in reads:
        names = names_of(read.module, module)
        if names is not None:
            yield Watched(names, read.name)


def reads_environment(kind: type) -> bool:
    """Whether a method of a class names the variables of the environment."""
    return any(not ENVIRONMENT.isdisjoint(function.__code__.co_names)
               for function in vars(kind).values() if isinstance(function, types.FunctionType))


def closure_of(kind: type) -> Any:
    """The cells that a class's forward reads, unless it is one of our own."""
    forward = getattr(kind, "forward", None)
    is_ours = getattr(forward, "__globals__", {}).get("__name__", "").startswith("rubato.")
    return () if is_ours else getattr(forward, "__closure__", None) or ()


def names_of(module_name: str, module: nn.Module) -> Optional[Dict[str, Any]]:
    """The global names of the file in which forward is written; that of the script itself is not
    always found by its name."""
    for part in module.modules():
        forward = getattr(type(part), "forward", None)
        if isinstance(forward, types.FunctionType):
            if forward.__globals__.get("__name__") == module_name:
                return forward.__globals__
    found = sys.modules.get(module_name)
    return None if found is None else vars(found)
