"""Whether rows of a dataset may be read early, by another process and in chunks.

A forked child reads the rows of one batch several times, whole and in chunks, and looks for
anything else that moves: random numbers, the dataset, other containers of the program, global
names, files, output. The script notices nothing: the child's files are copies with positions of
their own, and what would change the world outside is refused before it happens.
"""

from __future__ import annotations

import dis
import fcntl
import gc
import os
import pickle
import random
import stat
import sys
import types
from dataclasses import dataclass, field
from typing import Any, Callable

import numpy
import torch
from torch.utils import _pytree as pytree

from rubato.split.child import run_in_child

from .watched import Watched, is_library_file

# Any number that does not divide batches would do.
CHUNK_ROWS = 13
# What Python tells its audit hooks before it changes something outside of the process.
_CHANGES_OUTSIDE = (
    "os.", "shutil.", "subprocess.", "socket.", "sqlite3.", "ftplib.", "http.", "urllib.",
    "smtplib.", "pty.", "syslog.", "fcntl.", "tempfile.",
)
_LOOKS_OUTSIDE = ("os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.getxattr", "os.listxattr")
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class _Effect(BaseException):
    """Reading a row would change something outside of the process."""

    # The first one, in case the script's code catches everything.
    first: str | None = None


@dataclass
class Verdict:
    """What a rehearsal found: why rows cannot be fetched ahead, or what reading them looks up."""

    reason: str | None = None
    # Global names by the id of their dictionary, and names of attributes of anything.
    names: dict[int, list[str]] = field(default_factory=dict)
    attributes: list[str] = field(default_factory=list)


class _Profile:
    """What the script's own code looks up and stores while rows are read."""

    def __init__(self) -> None:
        # By the id of the dictionary of globals, which is the same in the parent.
        self.names: dict[int, set[str]] = {}
        self.attributes: set[str] = set()
        self.written: set[str] = set()
        self._seen: set[types.CodeType] = set()

    def __call__(self, frame: types.FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code in self._seen:
            return
        self._seen.add(code)
        if is_library_file(code.co_filename):
            return
        names = self.names.setdefault(id(frame.f_globals), set())
        for instruction in dis.get_instructions(code):
            operation, name = instruction.opname, instruction.argval
            if operation in ("LOAD_GLOBAL", "LOAD_NAME"):
                names.add(name)
            elif operation in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"):
                self.attributes.add(name)
            elif operation in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                self.written.add(name)
            elif operation == "STORE_DEREF" and name in code.co_freevars:
                self.written.add(name)


def _detach_files() -> dict[int, int]:
    """Gives this process files of its own, and returns their positions.

    What is written goes nowhere but moves the position; what is read is read by a position that
    the parent does not share.
    """
    positions = {}
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        try:
            if stat.S_ISFIFO(os.fstat(number).st_mode):
                continue  # The only one left is how the answer goes to the parent.
            mode = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE
            if mode == os.O_RDONLY and stat.S_ISREG(os.fstat(number).st_mode):
                position = os.lseek(number, 0, os.SEEK_CUR)
                copy = os.open(f"/proc/self/fd/{number}", os.O_RDONLY)
                os.lseek(copy, position, os.SEEK_SET)
            else:
                copy = os.memfd_create("rehearsal")
                position = 0
            os.dup2(copy, number)
            os.close(copy)
            positions[number] = position
        except OSError:
            continue
    return positions


def _moved_files(positions: dict[int, int]) -> list[int]:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    return [
        number for number, position in positions.items()
        if os.lseek(number, 0, os.SEEK_CUR) != position
    ]


def _random_states() -> bytes:
    return pickle.dumps(
        (torch.get_rng_state().numpy().tobytes(), random.getstate(), numpy.random.get_state())
    )


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Python calls it before something happens; an exception prevents that."""
    effect = None
    if event == "open":
        flags = arguments[2]
        if isinstance(flags, int) and flags & _WRITE_FLAGS:
            effect = f"reading a row writes the file {arguments[0]}"
    elif event.startswith(_CHANGES_OUTSIDE) and event not in _LOOKS_OUTSIDE:
        effect = f"reading a row does something outside of the process ({event})"
    if effect is not None:
        _Effect.first = _Effect.first or effect
        raise _Effect(effect)


def _containers() -> list[tuple[Any, int]]:
    """Everything that the program keeps things in. Nothing is collected: finalizers are the
    leader's."""
    gc.unfreeze()
    return [(item, len(item)) for item in gc.get_objects() if type(item) in (list, dict, set)]


def _differs(whole: Any, parts: list[Any]) -> str | None:
    """Compares a batch with the same batch in chunks, bit by bit."""
    leaves, spec = pytree.tree_flatten(whole)
    flat = [pytree.tree_flatten(part) for part in parts]
    if not leaves or not all(type(leaf) is torch.Tensor for leaf in leaves):
        return "samples are not made of tensors and numbers only"
    if not all(part_spec == spec for _, part_spec in flat):
        return "samples do not all have the same form"
    for index, leaf in enumerate(leaves):
        pieces = [part[index] for part, _ in flat]
        forms = {(piece.dtype, piece.shape[1:]) for piece in pieces}
        if forms != {(leaf.dtype, leaf.shape[1:])}:
            return "samples do not all have the same form"
        if leaf.contiguous().numpy().tobytes() != torch.cat(pieces).numpy().tobytes():
            return "the same row differs when it is read again"
    return None


def _examine(read: Callable[[list[Any]], Any], indices: list[Any], batch: Any, watched: Watched,
             positions: dict[int, int]) -> Verdict:
    """Runs in the child."""
    chunks = [indices[at : at + CHUNK_ROWS] for at in range(0, len(indices), CHUNK_ROWS)]
    states = _random_states()
    # What is imported or computed once is so afterwards, as it is in the leader.
    read(list(indices))
    profile = _Profile()
    sys.setprofile(profile)
    whole = read(list(indices))
    sys.setprofile(None)
    verdict = Verdict(None, {key: sorted(names) for key, names in profile.names.items()},
                      sorted(profile.attributes))
    is_changed = watched.has_changed()
    for namespace, names in verdict.names.items():
        watched.add_names(namespace, names, verdict.attributes)
    lengths = _containers()
    parts = [read(chunk) for chunk in chunks]
    grown = [item for item, length in lengths if len(item) != length]
    del lengths
    if _random_states() != states:
        verdict.reason = "reading a row draws random numbers"
    elif is_changed or watched.has_changed():
        verdict.reason = "reading a row changes the dataset, or what the dataset uses"
    elif profile.written:
        verdict.reason = f"reading a row assigns the name {min(profile.written)}"
    elif grown:
        verdict.reason = f"reading a row changes a {type(grown[0]).__name__} of the program"
    elif _moved_files(positions):
        verdict.reason = "reading a row writes output or moves the position in a file"
    else:
        verdict.reason = _differs(whole, parts) or _differs(batch, [whole])
    return verdict


def rehearse(controller: Any, read: Callable[[list[Any]], Any], indices: list[Any], batch: Any,
             watched: Watched) -> Verdict:
    """Reads these rows, which the leader has read as `batch`, in a forked child.

    Takes some tens of milliseconds.
    """

    def examine() -> Verdict:
        controller.become_replica()
        # What runs here is the script's own code, as in the leader between two calls.
        positions = _detach_files()
        sys.addaudithook(_audit)
        try:
            verdict = _examine(read, indices, batch, watched, positions)
        except BaseException as error:  # Whatever the script's code raises is a verdict.
            verdict = Verdict(f"reading a row early raised {type(error).__name__}: {error!s:.80}")
        sys.setprofile(None)
        return verdict if _Effect.first is None else Verdict(_Effect.first)

    found = run_in_child(examine)
    if isinstance(found, Verdict):
        return found
    return Verdict(f"reading its rows in another process failed ({found!s:.80})")
