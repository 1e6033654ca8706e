"""The script's own variables: counters, histories, the best accuracy so far.

A newcomer runs the script from its beginning and skips what the others have done, so its variables
are stale when it joins. It then takes over plain values (numbers, text, and lists, tuples, sets and
dictionaries of them) of the global names and of the functions that its training loop is in, and of
objects of the script's own classes that these refer to.
"""

import ctypes
import os
import sys
from collections import deque
from types import FrameType
from typing import Any, Dict, List, MutableMapping, Tuple

import torch

ATOMS = (int, float, complex, bool, str, bytes, type(None))
DEPTH_MAX = 6
OBJECT_DEPTH_MAX = 3

Packed = Dict[str, Any]


class Attributes(dict):
    """Plain attributes of an object that stays as it is otherwise."""


def script_folder() -> str:
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    return os.path.dirname(os.path.realpath(path)) if path else os.getcwd()


def is_of_script(path: str, folder: str) -> bool:
    real = os.path.realpath(path)
    is_installed = f"{os.sep}site-packages{os.sep}" in real or "dist-packages" in real
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return real.startswith(folder + os.sep) and not is_installed and not real.startswith(own)


def is_plain(value: Any, depth: int = 0) -> bool:
    """True for values that mean the same in every worker."""
    if isinstance(value, ATOMS):
        return True
    if depth > DEPTH_MAX:
        return False
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        return True
    if isinstance(value, torch.Tensor):
        return value.numel() == 1 and not value.requires_grad and value.grad_fn is None
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return all(is_plain(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return all(is_plain(k, depth + 1) and is_plain(v, depth + 1) for k, v in value.items())
    return False


def is_own_object(value: Any, folder: str) -> bool:
    """True for instances of classes that the script defines."""
    module = sys.modules.get(type(value).__module__)
    path = getattr(module, "__file__", None)
    is_data = isinstance(value, (torch.utils.data.Dataset, torch.optim.Optimizer, type))
    return bool(path) and hasattr(value, "__dict__") and not is_data and is_of_script(path, folder)


def packed(names: MutableMapping[str, Any], folder: str, depth: int = 0) -> Packed:
    """The plain part of some names."""
    found: Packed = {}
    for name, value in names.items():
        if name.startswith("_") or (isinstance(value, torch.nn.Module) and depth > 0):
            continue
        if is_plain(value):
            found[name] = value
        elif depth < OBJECT_DEPTH_MAX and is_own_object(value, folder):
            found[name] = Attributes(packed(vars(value), folder, depth + 1))
    return found


def unpack(names: MutableMapping[str, Any], values: Packed) -> None:
    """Lists and dictionaries are changed in place, since others may refer to them."""
    for name, value in values.items():
        present = names.get(name)
        if isinstance(value, Attributes):
            if present is not None and hasattr(present, "__dict__"):
                value.pop("training", None)
                unpack(vars(present), value)
        elif type(value) is list and type(present) is list:
            present[:] = value
        elif type(value) is dict and type(present) is dict:
            present.clear()
            present.update(value)
        else:
            names[name] = value


def script_frames() -> List[FrameType]:
    """The script's functions under way, outermost first, without the module itself."""
    folder = script_folder()
    frames = []
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_locals is not frame.f_globals and is_of_script(
            frame.f_code.co_filename, folder
        ):
            frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


def capture() -> Dict[str, Any]:
    """All variables that newcomers need, from wherever the script is now."""
    folder = script_folder()
    main = vars(sys.modules["__main__"])
    frames: List[Tuple[str, Packed]] = [
        (frame.f_code.co_name, packed(frame.f_locals, folder)) for frame in script_frames()
    ]
    return {"globals": packed(main, folder), "frames": frames}


def install(captured: Dict[str, Any]) -> None:
    """Sets them where the script is now: in the same loop of the same functions."""
    unpack(vars(sys.modules["__main__"]), captured["globals"])
    for frame, (name, values) in zip(script_frames(), captured["frames"]):
        if frame.f_code.co_name != name:
            raise RuntimeError(
                f"a newcomer is in {frame.f_code.co_name}() where the others are in {name}()"
            )
        write_locals(frame, values)


def write_locals(frame: FrameType, values: Packed) -> None:
    names = frame.f_locals
    unpack(names, {name: value for name, value in values.items() if name in names})
    if sys.version_info < (3, 13):  # From then on `f_locals` is the real thing.
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
