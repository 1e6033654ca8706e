"""The descriptors of a leader: which of them a copy can share with it, and where files stood.

A fork shares open files, with their positions, so a copy that wakes finds them where the dead
leader left them. Regular files are brought back to where they were when the copy was made.
Connections cannot be: what the leader said to the other side has been said.
"""

import fcntl
import gc
import io
import os
import stat
from typing import Dict, List, Optional, Set

CONTENT_BYTES_MAX = 8 << 20  # Of files that are not only appended to; larger ones prevent a copy.

_INHERITED: Set[int] = set()
_PROCESS_DESCRIPTOR = "anon_inode:[pidfd]"
_HARMLESS_DEVICES = {
    f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty")}
_SHARED_MEMORY = ("/dev/shm/", "/memfd:", "/dev/zero", "/SYSV")


class UnsafeDescriptor(Exception):
    """Why a copy cannot be made."""


def remember_inherited() -> None:
    """Call this before the script: what its starter gave it is there for every copy."""
    _INHERITED.update(descriptors())


def descriptors() -> List[int]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            os.fstat(int(name))
        except OSError:
            continue  # That of the listing itself.
        found.append(int(name))
    return found


class OpenFile:
    """A regular file that is open for writing."""

    def __init__(self, descriptor: int, path: str, status: os.stat_result, flags: int) -> None:
        self.descriptor = descriptor
        self.path = path
        self.size = status.st_size
        self.position = os.lseek(descriptor, 0, os.SEEK_CUR)
        self.is_append = bool(flags & os.O_APPEND)
        self.content: Optional[bytes] = None
        # Without O_APPEND what is in the file may change.
        if not self.is_append:
            is_at_end = self.position == self.size and flags & os.O_ACCMODE == os.O_WRONLY
            if self.size > CONTENT_BYTES_MAX and not is_at_end:
                raise UnsafeDescriptor(f"{path} is open for reading and writing, and is large")
            if self.size <= CONTENT_BYTES_MAX:
                self.content = content(descriptor, self.size)

    def restore(self) -> None:
        if self.content is not None and content(self.descriptor, self.size) != self.content:
            with open(f"/proc/self/fd/{self.descriptor}", "r+b") as file:
                file.write(self.content)
        if os.fstat(self.descriptor).st_size > self.size:
            os.ftruncate(self.descriptor, self.size)
        os.lseek(self.descriptor, self.position, os.SEEK_SET)


def content(descriptor: int, size: int) -> bytes:
    """Also of a file that is open for writing only, and without moving its position."""
    with open(f"/proc/self/fd/{descriptor}", "rb") as file:
        return file.read(size)


class OpenFiles:
    """All files of the process, as they are now. Raises UnsafeDescriptor if a copy is unsafe."""

    def __init__(self, known: Set[int]) -> None:
        self.written: List[OpenFile] = []
        self.positions: Dict[int, int] = {}
        standard = {(os.fstat(n).st_dev, os.fstat(n).st_ino) for n in (0, 1, 2) if is_open(n)}
        for descriptor in descriptors():
            if descriptor <= 2 or descriptor in known:
                continue
            try:
                status = os.fstat(descriptor)
            except OSError:  # Another thread has closed it meanwhile.
                continue
            if (status.st_dev, status.st_ino) not in standard:
                self.add(descriptor, status)

    def add(self, descriptor: int, status: os.stat_result) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        is_inherited = descriptor in _INHERITED
        if stat.S_ISREG(status.st_mode) and not path.startswith(_SHARED_MEMORY):
            flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
            if flags & os.O_ACCMODE == os.O_RDONLY:
                self.positions[descriptor] = os.lseek(descriptor, 0, os.SEEK_CUR)
            else:
                self.written.append(OpenFile(descriptor, path, status, flags))
        elif is_inherited or stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
            pass
        elif stat.S_ISSOCK(status.st_mode):
            raise UnsafeDescriptor("the script has a network connection or socket open")
        elif stat.S_ISFIFO(status.st_mode):
            raise UnsafeDescriptor("the script has a pipe open")
        elif stat.S_ISCHR(status.st_mode) and path in _HARMLESS_DEVICES:
            pass
        elif path == _PROCESS_DESCRIPTOR:
            pass  # Of a replica; it only tells whether that one has ended.
        else:
            raise UnsafeDescriptor(f"the script has {path} open")

    def restore(self) -> None:
        for file in self.written:
            file.restore()
        for descriptor, position in self.positions.items():
            os.lseek(descriptor, position, os.SEEK_SET)


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def flush_files() -> None:
    """What a script has written should be in its files. At the end of a process this is the
    interpreter's part, but what we have put into torch may keep a script's objects alive."""
    for value in gc.get_objects():
        if type(value) in (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom):
            try:
                if not value.closed and value.writable():
                    value.flush()
            except (OSError, ValueError):
                pass
