"""One page of memory that the holder, the leader and its sleeping copy share.

Made before the first fork, so that all of them have it at the same address. Each field has one
writer at a time: the leader while it lives, then the holder, then the copy that became the leader.
"""

import mmap
import struct
from typing import Any

_FIELD = struct.Struct("@q")  # Native: a field is written by one store.


class Field:
    """A number in the page."""

    def __init__(self, index: int) -> None:
        self.offset = index * _FIELD.size

    def __get__(self, page: Any, owner: Any = None) -> int:
        return _FIELD.unpack_from(page.memory, self.offset)[0]

    def __set__(self, page: Any, value: int) -> None:
        _FIELD.pack_into(page.memory, self.offset, value)


class LeaderPage:
    """Who leads, who sleeps, and how far the training has come."""

    leader = Field(0)  # The process that runs the script.
    copy = Field(1)  # The process that sleeps; zero if there is none.
    copy_step = Field(2)  # Where it would go on.
    step = Field(3)  # Committed steps of the leader at its last boundary.
    deaths = Field(4)  # Since a leader last came further than those before it.
    furthest = Field(5)  # The step of the leader that came furthest and died.
    signal = Field(6)  # What ended the last leader.
    woken = Field(7)  # How many copies became the leader.
    attempt = Field(8)  # Which way of starting again is tried; see starting_again.py.
    is_abandoned = Field(9)  # The leader has ended itself for the next attempt.

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, mmap.PAGESIZE)
