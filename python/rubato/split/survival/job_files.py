"""The files that a job's script has written, over all its starts.

A script that starts again must find its files as they were when the job began, or it appends to its
logs twice and its `mkdir` fails. So the first state of every file it writes is kept in the job's
folder, before it is written. Results of earlier starts are not thrown away: while a script is
replayed they lie aside, under a name of ours, and come back; while it computes everything again
they lie aside until it has come to its end.

It is also known with which step a file was last written: a script that reads such a file before its
first step goes on from its own checkpoint.
"""

import contextlib
import fcntl
import os
import pickle
import shutil
import struct
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from rubato.split.survival.file_journal import (ABSENT, CONTENT, FOLDER, SIZE, content, restore,
                                                size_of)
from rubato.split.survival.open_files import OpenFiles
from rubato.split.survival.reads import ReplayDiffers

PATHS_MAX = 4096
CONTENT_BYTES_MAX = 1 << 20  # Of one file that is kept whole;
CONTENTS_BYTES_MAX = 32 << 20  # and of all.
LOG_BYTES_MAX = 4 << 20  # That are added to the log before it is written anew.
LOST = "lost"  # A file that is too large to be kept.

_LENGTH = struct.Struct("@q")


class FileState(NamedTuple):
    """A file at a snapshot."""

    exists: bool
    is_folder: bool
    size: int
    mtime_ns: int
    content: Optional[bytes]  # Of a small file.
    only_grows: bool  # What is in it stays, so that its beginning can be had again.


class WrittenFile:
    """One file of the job."""

    def __init__(self, path: str, kind: str, value: Any) -> None:
        self.path = path
        self.kind = kind  # As it was when the job began.
        self.value = value
        self.step = 0  # With which it was last written.
        self.is_appended = True  # It was never opened otherwise.


class JobFiles:
    """All files of the job. `log` is where they are kept; without one, in memory only."""

    def __init__(self, log: str = "", step: Callable[[], int] = lambda: 0) -> None:
        self.log = log
        self.step = step  # Of the script, now.
        self.files: Dict[str, WrittenFile] = {}
        self.bytes = 0
        self.log_bytes = 0
        self.is_complete = True
        self.is_paused = False  # What an attempt writes that may be abandoned does not count.
        # An earlier start of the script has left the log.
        self.is_later_start = bool(log) and os.path.exists(log)
        if log:
            with contextlib.suppress(OSError), open(log, "ab"):
                pass
        if self.is_later_start:
            for path, kind, value, step in self.entries():
                if path not in self.files:
                    self.files[path] = WrittenFile(path, kind, value)
                self.files[path].step = step

    def entries(self) -> Iterator[Tuple[str, str, Any, int]]:
        with open(self.log, "rb") as file:
            while True:
                head = file.read(_LENGTH.size)
                data = file.read(_LENGTH.unpack(head)[0]) if len(head) == _LENGTH.size else b""
                if len(head) < _LENGTH.size or len(data) < _LENGTH.unpack(head)[0]:
                    return
                yield pickle.loads(data)

    def write(self, file: WrittenFile, is_new: bool) -> None:
        """Adds to the log; what a file was like at first is written once."""
        if not self.log:
            return
        with contextlib.suppress(OSError):
            if self.log_bytes > LOG_BYTES_MAX:
                self.write_anew()
            with open(self.log, "ab", buffering=0) as log:
                self.log_bytes += log.write(entry_of(file, is_new))

    def write_anew(self) -> None:
        with open(self.log + ".new", "wb") as log:
            for file in self.files.values():
                log.write(entry_of(file, True))
        os.replace(self.log + ".new", self.log)
        self.log_bytes = 0

    def on_change(self, path: str, is_append: bool) -> None:
        """Before a file is written."""
        file, step = self.files.get(path), self.step()
        if file is None:
            if len(self.files) >= PATHS_MAX:
                self.is_complete = False
                return
            file = self.files[path] = WrittenFile(path, *self.first_state(path, is_append))
            file.is_appended, file.step = is_append, step
            self.write(file, True)
        elif not self.is_paused:
            file.is_appended = file.is_appended and is_append
            if file.step != step:
                file.step = step
                self.write(file, False)

    def first_state(self, path: str, is_append: bool) -> Tuple[str, Any]:
        size = size_of(path)
        if size is None:
            return ABSENT, None
        if os.path.isdir(path):
            return FOLDER, None
        if is_append:
            return SIZE, size
        self.bytes += size
        if size > CONTENT_BYTES_MAX or self.bytes > CONTENTS_BYTES_MAX:
            return LOST, None
        return CONTENT, content(path)

    # At a snapshot.

    def states(self, opened: Sequence["OpenFileState"]) -> Dict[str, FileState]:
        found, total = {}, 0
        growing = {state.path for state in opened}
        growing |= {path for path, file in self.files.items() if file.is_appended}
        for path in self.files:
            try:
                status = os.lstat(path)
            except OSError:
                found[path] = FileState(False, False, 0, 0, None, False)
                continue
            is_folder = os.path.isdir(path)
            is_small = not is_folder and status.st_size <= CONTENT_BYTES_MAX
            total += status.st_size if is_small else 0
            data = content(path) if is_small and total <= CONTENTS_BYTES_MAX else None
            found[path] = FileState(True, is_folder, status.st_size, status.st_mtime_ns, data,
                                    path in growing)
        return found

    # When the script starts again.

    def tops(self) -> List[str]:
        """What must be moved: a new folder with all that is in it, and other files."""
        new = [path for path, file in self.files.items() if file.kind == ABSENT]
        return sorted(path for path in self.files if self.files[path].kind != FOLDER
                      and not any(path.startswith(folder + os.sep) for folder in new))

    def set_aside(self, suffix: str) -> None:
        """Makes all files as they were when the job began. What was there keeps another name."""
        for path in self.tops():
            file, aside = self.files[path], other_name(path, suffix)
            with contextlib.suppress(OSError):
                remove(aside)
                if os.path.lexists(path):
                    os.rename(path, aside)
                if file.kind == SIZE:
                    copy_beginning(aside, path, file.value)
                elif file.kind == CONTENT:
                    restore(path, CONTENT, file.value)
                elif file.kind == LOST and os.path.exists(aside):
                    os.rename(aside, path)

    def bring_back(self, suffix: str) -> None:
        for path in self.tops():
            aside = other_name(path, suffix)
            with contextlib.suppress(OSError):
                if os.path.lexists(aside):
                    remove(path)
                    os.rename(aside, path)

    def undo_since(self, states: Dict[str, FileState]) -> None:
        """Files that were written after a snapshot for the first time are as at the beginning."""
        for path in sorted(set(self.files) - set(states), reverse=True):
            file = self.files[path]
            if file.kind not in (LOST, FOLDER):
                with contextlib.suppress(OSError):
                    restore(path, file.kind, file.value)

    def drop(self, suffix: str) -> None:
        for path in self.tops():
            with contextlib.suppress(OSError):
                remove(other_name(path, suffix))


def entry_of(file: WrittenFile, is_new: bool) -> bytes:
    first = (file.kind, file.value) if is_new else (None, None)
    data = pickle.dumps((file.path, *first, file.step))
    return _LENGTH.pack(len(data)) + data


def other_name(path: str, suffix: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.rubato-{suffix}")


def remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def copy_beginning(source: str, target: str, size: int) -> None:
    with open(source, "rb") as old, open(target, "wb") as new:
        while size > 0:
            data = old.read(min(size, 1 << 20))
            if not data:
                break
            new.write(data)
            size -= len(data)
    shutil.copystat(source, target)


def why_missing(states: Dict[str, FileState]) -> Optional[str]:
    """Why the files of a snapshot are not here any more, if so."""
    for path, state in states.items():
        size = size_of(path)
        if state.exists and state.content is None and not state.is_folder:
            if size is None or state.only_grows and size < state.size:
                return f"{path} is not what the script had written"
    return None


def make_as(states: Dict[str, FileState]) -> List[str]:
    """Makes files as they were at a snapshot, where that is known. Returns those where it is not:
    large files that were written again since."""
    newer = []
    for path, state in sorted(states.items()):
        with contextlib.suppress(OSError):
            if not state.exists:
                remove(path)
            elif state.is_folder:
                os.makedirs(path, exist_ok=True)
            elif state.content is not None:
                if content(path) != state.content:
                    with open(path, "wb") as file:
                        file.write(state.content)
            elif state.only_grows:
                os.truncate(path, state.size)  # It is as long at least: see why_missing.
            elif size_of(path) != state.size or os.lstat(path).st_mtime_ns != state.mtime_ns:
                newer.append(path)
    return newer


class OpenFileState(NamedTuple):
    """A file that the script has open for writing."""

    path: str
    flags: int
    position: int


def open_states(files: OpenFiles) -> List[OpenFileState]:
    return [OpenFileState(file.path.removesuffix(" (deleted)"),
                          fcntl.fcntl(file.descriptor, fcntl.F_GETFL), file.position)
            for file in sorted(files.written, key=lambda file: file.descriptor)]


def open_again(files: OpenFiles, states: List[OpenFileState]) -> None:
    """The script's open files are those of its replay; gives it the true ones instead."""
    found = sorted(files.written, key=lambda file: file.descriptor)
    paths = [file.path.removesuffix(" (deleted)") for file in found]
    if paths != [state.path for state in states]:
        raise ReplayDiffers(f"has other files open: {paths}")
    for file, state in zip(found, states):
        flags = state.flags & ~(os.O_CREAT | os.O_TRUNC | os.O_EXCL)
        number = os.open(state.path, flags | os.O_CLOEXEC)
        os.dup2(number, file.descriptor, os.get_inheritable(file.descriptor))
        os.close(number)
        os.lseek(file.descriptor, state.position, os.SEEK_SET)
