"""Where a script turns tensors into Python values.

What a script does next depends on tensors only through such reads: `loss.item()`, `if a > b`,
`float(x)`, printing. All that are made outside of root modules are written down in order. When the
script has to start again it can then be taken through everything it did without computing a model
once: root modules return zeros, and reads return what they returned the first time (replay.py).
"""

import functools
import pickle
import struct
import sys
from typing import Any, Callable, Dict, List, Tuple

import torch

LOG_BYTES_MAX = 64 << 20  # Beyond, a script that starts again computes everything again.

_SCALARS = ("item", "__float__", "__int__", "__bool__", "__index__", "__complex__", "is_nonzero")
_WHOLES = ("tolist", "numpy", "__array__", "__format__", "__repr__", "equal", "allclose",
           "__contains__")
_FUNCTIONS = ("equal", "allclose", "is_nonzero")
_TRANSPARENT = ("torch", "contextlib", "functools")  # They read for whoever has called them.
_HEAD = struct.Struct("=BI")
_REAL, _WHOLE, _LENGTH = struct.Struct("=d"), struct.Struct("=q"), struct.Struct("=I")
_OTHER, _FLOAT, _INT, _FALSE, _TRUE = range(5)
_INT_MAX = 1 << 62


class ReplayDiffers(Exception):
    """The script does not do what it did the first time."""


class ReadLog:
    """Values in the order in which they were read, with what they were read from."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.kinds: List[Tuple[Any, ...]] = []  # Function, shape and type of each kind of read.
        self.numbers: Dict[Tuple[Any, ...], int] = {}
        self.count = 0
        self.at = 0  # Of the next value that is read again.
        self.read_again = 0

    @property
    def is_full(self) -> bool:
        return len(self.data) > LOG_BYTES_MAX

    @property
    def is_at_end(self) -> bool:
        return self.read_again == self.count

    def add(self, kind: Tuple[Any, ...], value: Any) -> None:
        if self.is_full:
            return
        number = self.numbers.get(kind)
        if number is None:
            number = self.numbers[kind] = len(self.kinds)
            self.kinds.append(kind)
        if type(value) is float:
            self.data += _HEAD.pack(_FLOAT, number) + _REAL.pack(value)
        elif type(value) is bool:
            self.data += _HEAD.pack(_TRUE if value else _FALSE, number)
        elif type(value) is int and -_INT_MAX < value < _INT_MAX:
            self.data += _HEAD.pack(_INT, number) + _WHOLE.pack(value)
        else:
            text = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
            self.data += _HEAD.pack(_OTHER, number) + _LENGTH.pack(len(text)) + text
        self.count += 1
        self.at, self.read_again = len(self.data), self.count

    def next(self, kind: Tuple[Any, ...]) -> Any:
        """The next value of a log that is read again, which must be of this kind."""
        if self.is_at_end:
            raise ReplayDiffers(f"reads a tensor ({kind[0]}) where it read none before")
        form, number = _HEAD.unpack_from(self.data, self.at)
        if self.kinds[number] != kind:
            raise ReplayDiffers(f"reads {kind} where it read {self.kinds[number]} before")
        at = self.at + _HEAD.size
        if form == _FLOAT:
            value: Any = _REAL.unpack_from(self.data, at)[0]
            at += _REAL.size
        elif form == _INT:
            value = _WHOLE.unpack_from(self.data, at)[0]
            at += _WHOLE.size
        elif form == _OTHER:
            length = _LENGTH.unpack_from(self.data, at)[0]
            at += _LENGTH.size + length
            value = pickle.loads(memoryview(self.data)[at - length : at])
        else:
            value = form == _TRUE
        self.at = at
        self.read_again += 1
        return value

    def __getstate__(self) -> Any:
        return {"data": bytes(self.data), "kinds": self.kinds, "count": self.count}

    def __setstate__(self, state: Any) -> None:
        self.data = bytearray(state["data"])
        self.kinds, self.count = state["kinds"], state["count"]
        self.numbers = {kind: number for number, kind in enumerate(self.kinds)}
        self.at = self.read_again = 0


def kind_of(name: str, tensor: Any) -> Tuple[Any, ...]:
    return (name, tuple(tensor.shape), str(tensor.dtype))


def is_ours() -> bool:
    """Whether it is Rubato itself that reads, or torch for it, which may happen in one process and
    not in another."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in _TRANSPARENT:
            return package == "rubato"
        frame = frame.f_back
    return False


Read = Callable[[Tuple[Any, ...], Callable[[], Any], bool], Any]


def install(is_read: Callable[[], bool], is_sampling: Callable[[], bool], read: Read) -> None:
    """Hands all reads to `read` while `is_read` holds: their kind, the function that makes them,
    and whether they give a single number. While `is_sampling` holds Rubato only passes on a
    request of the script's."""

    def patch(owner: Any, name: str, is_scalar: bool) -> None:
        original = getattr(owner, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def reading(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_read() or not isinstance(tensor, torch.Tensor):
                return original(tensor, *args, **kwargs)
            if not is_sampling() and is_ours():
                return original(tensor, *args, **kwargs)
            return read(kind_of(name, tensor), lambda: original(tensor, *args, **kwargs), is_scalar)

        setattr(owner, name, reading)
        patched.append((owner, name, original, reading))

    patched: List[Tuple[Any, str, Any, Any]] = []
    for name in _SCALARS:
        patch(torch.Tensor, name, True)
    for name in _WHOLES:
        patch(torch.Tensor, name, False)
    for name in _FUNCTIONS:
        patch(torch, name, name == "is_nonzero")
    for name in ("trace", "trace_module"):
        setattr(torch.jit, name, unpatched(getattr(torch.jit, name), patched))


def unpatched(function: Callable[..., Any],
              patched: List[Tuple[Any, str, Any, Any]]) -> Callable[..., Any]:
    """Tracing warns of reads unless it is torch itself that reads, which it could not tell."""
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for owner, name, original, _ in patched:
            setattr(owner, name, original)
        try:
            return function(*args, **kwargs)
        finally:
            for owner, name, _, reading in patched:
                setattr(owner, name, reading)

    return call
