"""What a script prints appears once, also when a copy of the leader prints it again.

Standard output and standard error keep their type, number and buffering. Only the raw file below
them is replaced by one that also notes, in shared memory, what it has written. A copy that wakes
reads there what the dead leader wrote since the copy was made, and drops that much from what it
prints itself: line by line, since times and rates may differ from one run to the other. A line that
differs in more than its numbers ends this, and is told.

What goes past Python (printf in a library, programs that the script starts) is not seen here, and
may appear twice.
"""

import atexit
import ctypes
import io
import mmap
import os
import re
import struct
import sys
from typing import Any, Callable, Dict, List, Optional

RING_BYTES = 1 << 20  # Of what was written last; of what is older only the amount is known.

_libc = ctypes.CDLL(None, use_errno=True)
_COUNTS = struct.Struct("@qq")  # Bytes and lines.
_HEAD = 64
_LINE_END = re.compile(rb"[\n\r]")
_NOTICE = re.compile(rb"^rubato: ", re.MULTILINE)
_NUMBERS = re.compile(rb"[ 0-9.,:+\-]+")


class OutputRing:
    """The last bytes that were written, in memory that outlives the writer: shared memory, or a
    file in the folder of the job, which the next start of the script finds."""

    def __init__(self, path: str = "", size: int = RING_BYTES) -> None:
        self.size = size
        self.memory: Any = mapped_file(path, _HEAD + size) if path else mmap.mmap(-1, _HEAD + size)

    @property
    def total(self) -> int:
        """How many bytes were written since the job began."""
        return _COUNTS.unpack_from(self.memory, 0)[0]

    @property
    def lines(self) -> int:
        """Those of the script."""
        return _COUNTS.unpack_from(self.memory, 0)[1]

    def add(self, data: bytes) -> None:
        total, lines = _COUNTS.unpack_from(self.memory, 0)
        kept = data[-self.size :]
        at = (total + len(data) - len(kept)) % self.size
        first = kept[: self.size - at]
        self.memory[_HEAD + at : _HEAD + at + len(first)] = first
        self.memory[_HEAD : _HEAD + len(kept) - len(first)] = kept[len(first) :]
        lines += len(_LINE_END.findall(data)) - len(_NOTICE.findall(data))
        _COUNTS.pack_into(self.memory, 0, total + len(data), lines)  # Last: what counts is there.

    def since(self, mark: int) -> bytes:
        """What was written after `mark`, as far as it is still known."""
        total = self.total
        count = min(total - mark, self.size)
        at = (total - count) % self.size
        first = bytes(self.memory[_HEAD + at : _HEAD + min(at + count, self.size)])
        return first + bytes(self.memory[_HEAD : _HEAD + count - len(first)])


def mapped_file(path: str, size: int) -> memoryview:
    """Shared memory that is a file. Python's own mmap would keep a descriptor, and scripts would
    get other numbers for theirs."""
    number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.truncate(number, size)
        _libc.mmap.restype = ctypes.c_void_p
        address = _libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_WRITE,
                             mmap.MAP_SHARED, number, ctypes.c_long(0))
    finally:
        os.close(number)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")


class Repetition:
    """Drops from a stream what an earlier leader has written already."""

    def __init__(self) -> None:
        self.unknown = 0  # Bytes that were written, but are known no more: dropped by their number.
        self.lines_unknown = 0  # And whole lines.
        self.written = b""
        self.held = b""  # The beginning of a line, until it can be compared.
        self.lines_other = 0  # Lines that differ in their numbers.
        self.is_other = False  # A line differed in more than that.

    @property
    def is_over(self) -> bool:
        return not (self.unknown or self.lines_unknown or self.written or self.held)

    def expect(self, unknown: int, written: bytes) -> None:
        self.unknown += unknown
        self.written += written
        self.is_other = False

    def new(self, data: bytes) -> bytes:
        """What of `data`, and of what was held back, is to be written."""
        self.held += data
        out = b""
        while self.held and (self.unknown or self.lines_unknown or self.written):
            line = first_line(self.held)
            if is_notice(line) and is_whole(line):
                out += line
                self.held = self.held[len(line) :]
            elif self.lines_unknown:
                if not is_whole(line):
                    return out
                self.held = self.held[len(line) :]
                self.lines_unknown -= 1
            elif self.unknown:
                count = min(self.unknown, len(self.held))
                self.unknown -= count
                self.held = self.held[count:]
            elif not self.compare():
                return out
        return out + self.rest()

    def rest(self) -> bytes:
        held, self.held = self.held, b""
        return held

    def compare(self) -> bool:
        """Drops a line, or finds that it is another one. False if more must come first."""
        mine, theirs = first_line(self.held), first_line(self.written)
        if is_notice(theirs):
            self.written = self.written[len(theirs) :]
            return True
        is_line, was_line = is_whole(mine), is_whole(theirs)
        if was_line and not is_line or not was_line and not is_line and len(mine) < len(theirs):
            return False
        if not was_line:  # The earlier leader ended in the middle of a line.
            mine = mine[: len(theirs)]
        if not is_alike(mine, theirs):
            if not was_line:
                self.held = b"\n" + self.held
            self.is_other = True
            self.written = b""
            return True
        self.lines_other += mine != theirs
        self.held = self.held[len(mine) :]
        self.written = self.written[len(theirs) :]
        return True


def first_line(data: bytes) -> bytes:
    end = _LINE_END.search(data)
    return data if end is None else data[: end.end()]


def is_whole(line: bytes) -> bool:
    return line.endswith((b"\n", b"\r"))


def is_notice(line: bytes) -> bool:
    """What Rubato says is not said twice in any case (notices.py)."""
    return line.startswith(b"rubato: ")


def is_alike(line: bytes, other: bytes) -> bool:
    return line == other or _NUMBERS.sub(b" ", line) == _NUMBERS.sub(b" ", other)


class RecordedFile(io.FileIO):
    """A descriptor of the process, which remembers what was written through it."""

    def __init__(self, descriptor: int, name: str, ring: OutputRing) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self.name = name  # type: ignore[misc]
        self.ring = ring
        self.repetition: Optional[Repetition] = None
        self.past: Optional[Repetition] = None  # One that is over.
        self.owner = os.getpid()  # Forks of the leader write without a record.
        self.held: Optional[List[bytes]] = None  # What does not go out for now.
        self.is_mute = False  # What is written is forgotten.

    def write(self, data: Any) -> Any:
        if os.getpid() != self.owner:
            return super().write(data)
        if self.is_mute:
            return len(bytes(data))
        if self.held is not None:
            whole = bytes(data)
            self.held.append(whole)
            return len(whole)
        if self.repetition is None:
            count = super().write(data)
            if count:
                self.ring.add(bytes(memoryview(data).cast("B")[:count]))
            return count
        whole = bytes(data)
        self.write_all(self.repetition.new(whole))
        if self.repetition.is_over:
            self.past, self.repetition = self.repetition, None
        return len(whole)

    def write_all(self, data: bytes) -> None:
        while data:
            count = super().write(data) or 0
            self.ring.add(data[:count])
            data = data[count:]


FILES: Dict[str, RecordedFile] = {}


def install(folder: str = "") -> None:
    """Replaces the raw files of the standard streams, before the script has seen them. In the
    folder the next start of the script finds what was written."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if name not in FILES and is_plain(stream, number):
            path = os.path.join(folder, f"script-{name}") if folder else ""
            FILES[name] = record(stream, number, OutputRing(path))
    drop_earlier()
    if FILES:
        atexit.register(write_held)


def is_plain(stream: Any, number: int) -> bool:
    """Whether a stream is what the interpreter makes of a descriptor."""
    if type(stream) is not io.TextIOWrapper:
        return False
    raw = getattr(stream.buffer, "raw", stream.buffer)
    try:
        return type(raw) is io.FileIO and raw.fileno() == number
    except (OSError, ValueError):
        return False


def record(stream: io.TextIOWrapper, number: int, ring: OutputRing) -> RecordedFile:
    """The stream stays the same object: libraries may hold it already."""
    stream.flush()
    raw = RecordedFile(number, stream.name, ring)
    is_buffered = isinstance(stream.buffer, io.BufferedWriter)
    stream.__init__(  # type: ignore[misc]
        io.BufferedWriter(raw) if is_buffered else raw,  # type: ignore[arg-type]
        encoding=stream.encoding, errors=stream.errors, newline="\n",
        line_buffering=stream.line_buffering, write_through=stream.write_through,
    )
    return raw


def flush() -> None:
    for name in FILES:
        stream = getattr(sys, name)
        if stream is not None and not stream.closed:
            stream.flush()
    for stream in (sys.stdout, sys.stderr):  # A script may have put its own there.
        if stream is not None and hasattr(stream, "flush"):
            stream.flush()


def marks() -> Dict[str, int]:
    """Where the streams are now, for `go_on` in a copy. Call `flush` first."""
    return {name: file.ring.total for name, file in FILES.items()}


def has_room(since: Dict[str, int]) -> bool:
    """Whether what was written since the marks leaves room for as much again."""
    return all(file.ring.total - since[name] < RING_BYTES // 2 for name, file in FILES.items())


def go_on(since: Dict[str, int]) -> None:
    """In a copy that wakes: what the dead leader has written must not appear again."""
    for name, file in FILES.items():
        file.owner = os.getpid()
        mark = min(since.get(name, file.ring.total), file.ring.total)
        written = file.ring.since(mark)
        unknown = file.ring.total - mark - len(written)
        if written or unknown:
            file.repetition = file.repetition or Repetition()
            file.repetition.expect(unknown, written)


def begin_at(since: Dict[str, int]) -> None:
    """In a process that has come to where the streams stood at these marks."""
    keep_all()
    go_on(since)


def mute(is_mute: bool) -> None:
    """Forgets what the script writes."""
    flush()
    for file in FILES.values():
        file.is_mute = is_mute


def hold_back() -> None:
    """Keeps what the script writes, until `release`."""
    flush()
    for file in FILES.values():
        file.held = []


def release(goes_out: bool) -> None:
    flush()
    for file in FILES.values():
        held, file.held = file.held or [], None
        for data in held if goes_out else ():
            file.write_all(data)


def drop_earlier() -> None:
    """The script begins anew: all that it has written in earlier starts it will write again."""
    for file in FILES.values():
        if file.ring.lines:
            file.repetition = Repetition()
            file.repetition.lines_unknown = file.ring.lines


def keep_all() -> None:
    """The script does not begin anew after all, and what it writes from now on is new."""
    flush()
    for file in FILES.values():
        file.repetition = None


def write_held() -> None:
    """At the end of the script: a last line that nothing more can be compared with."""
    flush()
    for file in FILES.values():
        if file.repetition is not None and os.getpid() == file.owner:
            file.write_all(file.repetition.rest())


def tell_differences(tell: Callable[[str, str], None]) -> None:
    """Once a copy that woke has printed what was printed before it, or something else."""
    for name, file in FILES.items():
        past, file.past = file.past, None
        if past is None:
            continue
        if past.is_other:
            tell(f"output-{name}", f"what the script prints on {name} after the death of its "
                 "process differs from what it printed before; some lines may appear twice")
        elif past.lines_other:
            tell(f"output-{name}", f"{past.lines_other} lines on {name} came out with other "
                 "numbers after the death of the process; those printed first were kept")
