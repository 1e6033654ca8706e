"""Why a leader cannot be copied by a fork: what a copy would not have, or would share."""

import os
import sys
import threading
from typing import Callable, List, Optional, Set

import torch

from rubato.split.survival import loader_workers

_child_lists: List[Callable[[], Set[int]]] = [loader_workers.known_children]
_native_threads = 0


def allow_children(pids: Callable[[], Set[int]]) -> None:
    """For processes of Rubato's, which end with the leader and are made anew."""
    _child_lists.append(pids)


def allow_native_threads(count: int) -> None:
    """For threads that Python does not know and that start again after a fork: those of OpenBLAS,
    and Rubato's own."""
    global _native_threads
    _native_threads += count


def tasks() -> Set[int]:
    return {int(task) for task in os.listdir("/proc/self/task")}


def reason_against_copy() -> Optional[str]:
    """The end of a sentence that begins with "because", or nothing."""
    return (
        against_device() or against_threads() or against_children()
        or loader_workers.reason_against_copy()
    )


def against_device() -> Optional[str]:
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        return "the script uses a GPU, whose state does not survive a fork"
    return None


def against_threads() -> Optional[str]:
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and thread.name != "QueueFeederThread":
            return f"the script runs a thread ({thread.name})"
    others = native_threads() - _native_threads
    # Threads of OpenMP come with the first large operation; see sleeping_copy.py.
    if others > torch.get_num_threads() - 1:
        return f"a library runs {others} threads of its own"
    return None


def native_threads() -> int:
    """How many threads there are that Python does not know."""
    known = {thread.native_id for thread in threading.enumerate()}
    return len(tasks() - known - {os.getpid()})  # After a fork the main thread's is an old one.


def has_thread_pool() -> bool:
    """Whether OpenMP has started threads, which a fork does not copy."""
    return native_threads() > _native_threads


def against_children() -> Optional[str]:
    known: Set[int] = set().union(*(pids() for pids in _child_lists))
    tracker = sys.modules.get("multiprocessing.resource_tracker")
    if tracker is not None:
        known.add(tracker._resource_tracker._pid)
    for task in tasks():
        with open(f"/proc/self/task/{task}/children", encoding="ascii") as file:
            for pid in map(int, file.read().split()):
                if pid not in known and is_running(pid):
                    return f"the script runs another process ({name_of(pid)})"
    return None


def is_running(pid: int) -> bool:
    """False for one that has ended, though nobody has asked how."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def name_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return str(pid)
