"""What the files were like when the sleeping copy was made.

A copy that wakes runs the script again from the step of the copy. Files that the leader has
written since must then be as they were, or a line is appended twice, a folder is there already, a
history is read that lies in the future. Before the leader changes a file for the first time since
the copy, the file's state is written here: that it was absent, how long it was, or all of it. What
is too large for that makes the copy worthless; it is given up, and the next one comes soon.

Changes are seen through Python's audit events and `torch.save`, that is, where Python opens,
renames, removes or makes something. Files that libraries open by themselves, or other processes of
the script, are left as they are; the script writes them again.
"""

import contextlib
import os
import pickle
import shutil
import stat
import struct
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from rubato.split.survival.holder import raise_descriptor

CONTENT_BYTES_MAX = 32 << 20  # Of all files since a copy was made.
PATHS_MAX = 4096  # Since a copy was made.

ABSENT, SIZE, CONTENT, FOLDER = "absent", "size", "content", "folder"
_LENGTH = struct.Struct("@q")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_NOT_FILES = ("/proc/", "/dev/", "/sys/")


class TooLarge(Exception):
    """The state of a file cannot be kept."""


class FileJournal:
    """Entries in memory that the leader writes and its copy reads."""

    def __init__(self) -> None:
        self.descriptor = raise_descriptor(os.memfd_create("rubato-files", os.MFD_CLOEXEC))
        self.kept: Dict[str, str] = {}  # What kind of state is known of each path.
        self.sizes: Dict[str, int] = {}
        self.bytes = 0

    def close(self) -> None:
        os.close(self.descriptor)

    def add(self, path: str, kind: str, value: Any = None) -> None:
        if len(self.kept) >= PATHS_MAX:
            raise TooLarge(f"more than {PATHS_MAX} files")
        data = pickle.dumps((path, kind, value))
        # One write: an entry that is cut off belongs to a change that was not made.
        os.write(self.descriptor, _LENGTH.pack(len(data)) + data)
        self.kept[path] = kind

    def before_append(self, path: str) -> None:
        """The file will grow, but what is in it stays."""
        if path in self.kept:
            return
        size = size_of(path)
        if size is None:
            self.add(path, ABSENT)
        else:
            self.keep_size(path, size)

    def keep_size(self, path: str, size: int) -> None:
        self.sizes[path] = size
        self.add(path, SIZE, size)

    def before_change(self, path: str) -> None:
        """Anything may happen to the file, or to the empty folder."""
        if self.kept.get(path, SIZE) != SIZE:
            return
        if os.path.isdir(path) and not os.path.islink(path):
            self.add(path, FOLDER)
            return
        size = self.sizes.get(path, size_of(path))
        if size is None:
            self.add(path, ABSENT)
            return
        self.bytes += size
        if self.bytes > CONTENT_BYTES_MAX:
            raise TooLarge(f"{path} of {size} bytes")
        with open(path, "rb") as file:
            self.add(path, CONTENT, file.read(size))

    def entries(self) -> List[Tuple[str, str, Any]]:
        found, at = [], 0
        end = os.fstat(self.descriptor).st_size
        while at + _LENGTH.size <= end:
            length = _LENGTH.unpack(os.pread(self.descriptor, _LENGTH.size, at))[0]
            data = os.pread(self.descriptor, length, at + _LENGTH.size)
            if len(data) < length:
                break
            found.append(pickle.loads(data))
            at += _LENGTH.size + length
        return found

    def undo(self) -> None:
        """Makes all files as they were."""
        states = {path: (kind, value) for path, kind, value in self.entries()}  # Later ones win.
        # Folders come before what is in them, and go after it.
        made = [path for path in sorted(states) if states[path][0] == FOLDER]
        others = [path for path in sorted(states, reverse=True) if states[path][0] != FOLDER]
        for path in (*made, *others):
            with contextlib.suppress(OSError):
                restore(path, *states[path])


def is_special(path: str) -> bool:
    """Whether it is a pipe, a socket, a device or a view of the kernel's: it has no state to keep,
    and whoever reads it takes away what was meant for others, or waits for ever."""
    if path.startswith(_NOT_FILES):
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def size_of(path: str) -> Optional[int]:
    """Nothing if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def restore(path: str, kind: str, value: Any) -> None:
    size = size_of(path)
    if kind == FOLDER:
        if size is None:
            os.mkdir(path)
    elif kind == ABSENT:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)  # All that is in it is younger still.
        elif os.path.lexists(path):
            os.unlink(path)
    elif kind == SIZE:
        if size is not None and size > value:
            os.truncate(path, value)
    elif is_special(path) or size != len(value) or content(path) != value:
        if is_special(path):
            os.unlink(path)
        with open(path, "wb") as file:
            file.write(value)


def content(path: str) -> Optional[bytes]:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


class FileWatch:
    """Sees that files are about to change, and notes it in the journal of the present copy."""

    def __init__(self) -> None:
        self.journal: Optional[FileJournal] = None
        self.on_change: List[Callable[[str, bool], None]] = []  # Path, and whether it only grows.
        self.on_read: List[Callable[[str], None]] = []
        self.on_too_large: Callable[[str], None] = lambda reason: None
        self.owner = 0
        self.is_busy = False
        self.is_installed = False

    def install(self) -> None:
        """A hook cannot be taken away, so there is one, which does nothing without a journal."""
        if not self.is_installed:
            self.is_installed = True
            sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: Tuple[Any, ...]) -> None:
        if event not in _HANDLERS or self.is_busy or os.getpid() != self.owner:
            return
        self.is_busy = True  # What is done here opens files, too.
        try:
            _HANDLERS[event](self, *arguments)
        except (OSError, ValueError, TypeError, IndexError):
            pass  # It will fail in the same way for the script.
        finally:
            self.is_busy = False

    def note(self, place: str, *, is_append: bool = False) -> None:
        """Call this before what is at an absolute path changes."""
        if is_special(place):
            return
        for listener in self.on_change:
            listener(place, is_append)
        journal = self.journal
        if journal is None:
            return
        try:
            if is_append:
                journal.before_append(place)
            else:
                journal.before_change(place)
        except (TooLarge, MemoryError) as error:
            self.give_up(str(error))

    def give_up(self, reason: str) -> None:
        self.journal = None
        self.on_too_large(reason)

    def before_write(self, path: Any) -> None:
        """For writers that Python does not see."""
        if isinstance(path, (str, bytes, os.PathLike)):
            self.hear("open", (path, None, os.O_WRONLY))

    def on_open(self, path: Any, mode: Optional[str], flags: int) -> None:
        if flags & _WRITES and not isinstance(path, int):
            is_append = bool(flags & os.O_APPEND) and not flags & os.O_TRUNC
            self.note(os.path.realpath(os.fsdecode(path)), is_append=is_append)
        elif self.on_read and not isinstance(path, int):
            place = os.path.realpath(os.fsdecode(path))
            if not is_special(place):
                for listener in self.on_read:
                    listener(place)

    def on_rename(self, source: Any, target: Any, folder: int, other_folder: int) -> None:
        source, target = absolute(source, folder), absolute(target, other_folder)
        if os.path.isdir(source):
            self.give_up(f"the folder {source}")
        self.note(source)
        self.note(target)

    def on_path(self, path: Any, folder: int = -1) -> None:
        self.note(absolute(path, folder))

    def on_mkdir(self, path: Any, mode: int, folder: int = -1) -> None:
        self.note(absolute(path, folder))

    def on_link(self, source: Any, target: Any, *folders: int) -> None:
        self.note(absolute(target, folders[-1] if folders else -1))

    def on_truncate(self, path: Any, length: int) -> None:
        if not isinstance(path, int):
            self.note(os.path.realpath(os.fsdecode(path)))


_HANDLERS: Dict[str, Callable[..., None]] = {
    "open": FileWatch.on_open,
    "os.rename": FileWatch.on_rename,
    "os.remove": FileWatch.on_path,
    "os.rmdir": FileWatch.on_path,
    "os.mkdir": FileWatch.on_mkdir,
    "os.link": FileWatch.on_link,
    "os.symlink": FileWatch.on_link,
    "os.truncate": FileWatch.on_truncate,
}


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """For files that are ours to move."""
    before, WATCH.is_busy = WATCH.is_busy, True
    try:
        yield
    finally:
        WATCH.is_busy = before


def absolute(path: Any, folder: int = -1) -> str:
    """A name that stays right when the script changes its folder."""
    text = os.fsdecode(path)
    if folder is not None and folder >= 0 and not os.path.isabs(text):
        text = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), text)
    parent, name = os.path.split(os.path.abspath(text))
    return os.path.join(os.path.realpath(parent), name)


WATCH = FileWatch()
