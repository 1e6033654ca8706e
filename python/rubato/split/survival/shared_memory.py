"""Saves what lies in memory that is shared with other processes.

A fork has its own copy of everything but such memory: parameters, optimizer state and rows of a
batch that replicas map too. It is saved by address, so that it does not matter which tensor,
array or page of a library lies there.
"""

import ctypes
import mmap
import os
from typing import Any, Dict, List, NamedTuple, Tuple

BYTES_MAX = 8 << 30  # More is not copied; the job relies on its snapshots.

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
_ANONYMOUS = ("/dev/shm/", "/memfd:", "/dev/zero", "/SYSV")
_excluded: Dict[Any, Tuple[int, int]] = {}  # Begin and end.


class UnsafeMemory(Exception):
    """Why a copy cannot be made."""


class Region(NamedTuple):
    begin: int
    size: int


def exclude(key: Any, begin: int, end: int) -> None:
    """For memory that must not go back in time, or whose content nobody needs."""
    _excluded[key] = (begin, end)


def exclude_map(memory: mmap.mmap) -> None:
    begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    end = begin + (len(memory) + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE
    exclude(begin, begin, end)


def without_excluded(begin: int, end: int) -> List[Region]:
    """What remains of a range, in whole pages."""
    ranges = [(begin, end)]
    for first, last in _excluded.values():
        first = (first + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE
        last = max(first, last // mmap.PAGESIZE * mmap.PAGESIZE)
        pieces = [piece for b, e in ranges
                  for piece in ((b, min(e, first)), (max(b, last), e))]
        ranges = [(b, e) for b, e in pieces if b < e] if first < last else ranges
    return [Region(b, e - b) for b, e in ranges]


def regions() -> List[Region]:
    """All memory that is shared and can be written."""
    found = []
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        for line in file:
            words = line.split(None, 5)
            if words[1][1] != "w" or words[1][3] != "s":
                continue
            path = words[5].strip() if len(words) > 5 else ""
            begin, end = (int(word, 16) for word in words[0].split("-"))
            pieces = without_excluded(begin, end)
            if pieces and path and not path.startswith(_ANONYMOUS):
                raise UnsafeMemory(f"{path} is mapped into memory and can be written there")
            found += pieces
    return found


def resident(region: Region) -> List[Tuple[int, int]]:
    """Begin and size of the runs of pages that exist; the others were never written."""
    pages = region.size // mmap.PAGESIZE
    flags = (ctypes.c_ubyte * pages)()
    if _libc.mincore(region.begin, region.size, flags) != 0:
        raise UnsafeMemory(os.strerror(ctypes.get_errno()))
    bits = bytes(flags).translate(bytes(b & 1 for b in range(256)))
    runs, at = [], 0
    while True:
        begin = bits.find(1, at)
        if begin < 0:
            return runs
        at = bits.find(0, begin)
        end = pages if at < 0 else at
        runs.append((region.begin + begin * mmap.PAGESIZE, (end - begin) * mmap.PAGESIZE))
        if at < 0:
            return runs


class SavedMemory:
    """A private copy. Make it in the copy of the leader, while the leader waits."""

    def __init__(self) -> None:
        self.runs: List[Tuple[int, int, int]] = []
        self.regions = regions()
        found = [run for region in self.regions for run in resident(region)]
        self.bytes = sum(size for _, size in found)
        if self.bytes > BYTES_MAX:
            raise UnsafeMemory(f"{self.bytes >> 20} MB of memory are shared")
        self.memory = mmap.mmap(-1, max(self.bytes, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        for begin, size in found:
            ctypes.memmove(address, begin, size)
            self.runs.append((begin, size, address))
            address += size

    def restore(self) -> None:
        for region in self.regions:
            for begin, size in resident(region):
                self.clear_new(begin, size)
        for begin, size, address in self.runs:
            ctypes.memmove(begin, address, size)

    def clear_new(self, begin: int, size: int) -> None:
        """Pages that did not exist held zeros."""
        at, end = begin, begin + size
        for run, length, _ in self.runs:
            if run < end and at < run + length:
                if at < run:
                    ctypes.memset(at, 0, run - at)
                at = min(end, run + length)
        if at < end:
            ctypes.memset(at, 0, end - at)
