"""How much memory a worker may use, and how much of it is taken.

A limit is one of a single process (RUBATO_WORKER_MEMORY, which the launcher hands on, or the
system's limits of a process), or one that the leader shares with its replicas (that of the control
group, the machine's memory), of which every worker gets the same share.
"""

import contextlib
import ctypes
import os
import resource
from typing import Any, Iterator, List, NamedTuple, Optional, Tuple

WORKER_MEMORY = "RUBATO_WORKER_MEMORY"  # Bytes that one worker may use.
PAGE = resource.getpagesize()
UNLIMITED = 1 << 60  # Control groups without a limit name a number beyond this.
CGROUPS = "/sys/fs/cgroup"
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # As malloc.h has them.
LARGE_BLOCK = 128 << 10  # What glibc begins with.
is_sparing = False  # Of this process.
OUT_OF_MEMORY_WORDS = ("can't allocate memory", "not enough memory", "out of memory",
                       "Cannot allocate memory", "bad_alloc")


class Usage(NamedTuple):
    """Bytes of this process."""

    mapped: int
    resident: int
    data: int


def usage() -> Usage:
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = [int(word) for word in file.read().split()]
    return Usage(pages[0] * PAGE, pages[1] * PAGE, pages[5] * PAGE)


class Limit(NamedTuple):
    """One thing that bounds a worker."""

    bytes: int
    counts: str  # The field of Usage that it bounds.
    is_shared: bool  # By all workers.
    source: str  # For people.


class HeapCounts(ctypes.Structure):
    """What glibc tells of its heap."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost")]


def free_in_heap() -> int:
    """Bytes that were freed and are kept for the next allocation; they count as used otherwise."""
    function = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if function is None:
        return 0
    function.restype = HeapCounts
    return int(function().fordblks)


def give_back_free_memory() -> None:
    function = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if function is not None:
        function(0)


def prefer_space_to_speed() -> None:
    """From now on large blocks are mappings of their own, given back as soon as they are freed.
    Kept in the heap, which is faster, they leave gaps of a third of it."""
    global is_sparing
    function = getattr(ctypes.CDLL(None), "mallopt", None)
    if is_sparing or function is None:
        return
    is_sparing = True
    function(M_MMAP_THRESHOLD, LARGE_BLOCK)
    function(M_TRIM_THRESHOLD, LARGE_BLOCK)
    give_back_free_memory()


def peak_resident(pid: Any = "self") -> int:
    """The most that a process has had resident, since `reset_peak`; 0 if it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


def reset_peak() -> None:
    """Where the kernel does not let us, peaks are overestimated."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def is_out_of_memory(error: Any) -> bool:
    """Of an exception, or of the last line of a traceback as text."""
    if isinstance(error, MemoryError):
        return True
    if not isinstance(error, (RuntimeError, str)):
        return False
    return any(word in str(error) for word in OUT_OF_MEMORY_WORDS)


# Control groups.


def number_in(path: str, name: str = "") -> Optional[int]:
    """The number in a file, or behind a name in a file of names and numbers."""
    try:
        with open(path, encoding="ascii") as file:
            text = file.read()
    except (OSError, UnicodeError):
        return None
    if name:
        words = [line.split() for line in text.splitlines()]
        text = next((entry[1] for entry in words if len(entry) == 2 and entry[0] == name), "")
    return int(text) if text.strip().isdigit() else None


def cgroup_folders() -> Iterator[Tuple[str, bool]]:
    """The folders of this process's memory group and of those above it; true: version 2. In a
    container the path may be one that only the host sees; then what is mounted is the group."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            lines = [line.strip().split(":", 2) for line in file]
    except OSError:
        return
    for line in lines:
        if len(line) != 3 or line[0] != "0" and "memory" not in line[1].split(","):
            continue
        is_second = line[0] == "0"
        mounts = ([CGROUPS, f"{CGROUPS}/unified"] if is_second else [f"{CGROUPS}/memory"])
        for mount in mounts:
            path = line[2].rstrip("/")
            while path:
                yield mount + path, is_second
                path = path.rpartition("/")[0]
            yield mount, is_second


def cgroup_limit() -> Optional[int]:
    """What the tightest group leaves for this job's processes."""
    found = []
    for folder, is_second in cgroup_folders():
        limit = number_in(f"{folder}/memory.{'max' if is_second else 'limit_in_bytes'}")
        if limit is None or limit >= UNLIMITED:
            continue
        used = number_in(f"{folder}/memory.{'current' if is_second else 'usage_in_bytes'}") or 0
        cache = sum(number_in(f"{folder}/memory.stat", name) or 0
                    for name in ("active_file", "inactive_file"))
        others = max(0, used - cache - usage().resident)
        found.append(limit - others)
    return min(found, default=None)


def oom_kills() -> int:
    """Processes that the kernel ended because memory ran out: of our group, or of the machine."""
    for folder, is_second in cgroup_folders():
        kills = number_in(f"{folder}/memory.{'events' if is_second else 'oom_control'}",
                          "oom_kill")
        if kills is not None:
            return kills
    return number_in("/proc/vmstat", "oom_kill") or 0


def machine_memory() -> Optional[int]:
    """What this machine has left, with what this process has already."""
    with contextlib.suppress(OSError), open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return (int(line.split()[1]) << 10) + usage().resident
    return None


def find_limits() -> List[Limit]:
    found = []
    given = os.environ.get(WORKER_MEMORY, "")
    if given.isdigit() and int(given) > 0:
        found.append(Limit(int(given), "resident", False, "the memory of a slot"))
    for kind, counts, source in ((resource.RLIMIT_AS, "mapped", "the limit of address space"),
                                 (resource.RLIMIT_DATA, "data", "the limit of a process's data")):
        soft, _ = resource.getrlimit(kind)
        if soft != resource.RLIM_INFINITY:
            found.append(Limit(soft, counts, False, source))
    for bound, source in ((cgroup_limit(), "the memory of the control group"),
                          (machine_memory(), "the memory of the machine")):
        if bound is not None:
            found.append(Limit(bound, "resident", True, source))
    return found


class MemoryLimits:
    """Of this job's workers; looked up when first asked for."""

    def __init__(self) -> None:
        self.found: Optional[List[Limit]] = None

    def all(self) -> List[Limit]:
        if self.found is None:
            self.found = find_limits()
        return self.found

    @property
    def is_tight(self) -> bool:
        """Something bounds a worker besides the machine that it runs on."""
        return len(self.all()) > 1 or any(not limit.is_shared for limit in self.all())

    def tightest(self, workers: int) -> Optional[Tuple[int, Limit]]:
        """Bytes that this process may take beside those that it uses, and the limit that says
        so; each of so many workers has the same."""
        now, free = usage(), free_in_heap()
        rooms = [(limit.bytes // (workers if limit.is_shared else 1)
                  - getattr(now, limit.counts) + free, at)
                 for at, limit in enumerate(self.all())]
        if not rooms:
            return None
        room, at = min(rooms)
        return room, self.all()[at]
