"""Finds the modules that an optimizer trains: it knows parameters, but buffers it does not."""

import gc
from typing import Iterable, List, Tuple

import torch

from rubato.takeover.variables import script_frames


def all_roots() -> List[torch.nn.Module]:
    """Modules that are no part of another one."""
    # `isinstance` would ask the object, and some complain about that.
    found = [one for one in gc.get_objects() if issubclass(type(one), torch.nn.Module)]
    modules = [module for module in found if "_modules" in vars(module)]
    parts = {id(part) for module in modules for part in module.children()}
    return [module for module in modules if id(module) not in parts]


def split_roots(
    parameters: Iterable[torch.Tensor],
) -> Tuple[List[torch.nn.Module], List[torch.nn.Module]]:
    """Those that hold some of the parameters, and all others, in the same order everywhere."""
    place = {id(parameter): index for index, parameter in enumerate(parameters)}
    trained, others = [], []
    for root in all_roots():
        places = [place[id(p)] for p in root.parameters() if id(p) in place]
        if places:
            trained.append((min(places), -len(places), describe(root), root))
        elif any(True for _ in root.parameters()) or any(True for _ in root.buffers()):
            others.append((name_of(root), describe(root), root))
    trained.sort(key=lambda entry: entry[:3])
    others.sort(key=lambda entry: entry[:2])
    return [entry[-1] for entry in trained], [entry[-1] for entry in others]


def describe(module: torch.nn.Module) -> str:
    shapes = [tuple(t.shape) for t in (*module.parameters(), *module.buffers())]
    return f"{type(module).__name__} {shapes}"


def name_of(module: torch.nn.Module) -> str:
    """What the script calls it; empty if it is deeper inside."""
    import __main__

    for names in (vars(__main__), *(frame.f_locals for frame in script_frames())):
        for name, value in names.items():
            if value is module:
                return name
    return ""
