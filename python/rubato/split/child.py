"""Forked children that leave no trace: replicas and rehearsals."""

import ctypes
import fcntl
import gc
import mmap
import os
import pickle
import signal
import stat
import sys
import traceback
from typing import Any, Callable, List, Sequence, Set

import torch

PR_SET_PDEATHSIG = 1
REHEARSAL_SECONDS_MAX = 60
BACKGROUND_SECONDS_MAX = 600  # It may have to wait for most of its processor time: see NICE.
READ_BYTES = 1 << 16
BACKGROUND_BYTES = 1 << 20  # Of what a background child returns.
NICE = 10  # Of a background child: whoever trains has nine tenths of a processor that both want.
RUNNING = object()


def flush_streams() -> None:
    """What is in a buffer at a fork would be written twice."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass


def become_child(shows_errors: bool, kept: Sequence[int] = ()) -> None:
    """Nothing of the script's may run or be written here: no handler, no finalizer, no output, no
    file, and no copy of a pipe or socket whose other end waits for its closing."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    prefer_for_memory_killer()
    gc.freeze()
    gc.disable()
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGALRM, signal.SIGHUP, signal.SIGUSR1,
                   signal.SIGUSR2):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The leader decides what an interrupt means.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    if not shows_errors:
        os.dup2(null, 2)
    drop_streams(null, {*kept, 0, 1, 2})
    os.close(null)
    torch.set_num_threads(1)  # The threads of the leader's pools are not here.


def prefer_for_memory_killer() -> None:
    """If memory runs out a child goes before the leader, which can do without it."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        pass


def drop_streams(null: int, kept: Set[int]) -> None:
    """Pipes, sockets and files that are only written lead nowhere from here on; their numbers stay
    taken."""
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number in kept:
            continue
        try:
            mode = os.fstat(number).st_mode
            access = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE
        except OSError:
            continue  # That of the listing itself.
        is_written = stat.S_ISREG(mode) and access == os.O_WRONLY
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or is_written:
            os.dup2(null, number)


def fork() -> int:
    flush_streams()
    return os.fork()


def run_in_child(function: Callable[[], Any]) -> Any:
    """What the function returns when run in a forked child; an Exception if it did not return."""
    reading, writing = os.pipe()
    pid = fork()
    if pid == 0:
        try:
            os.close(reading)
            become_child(bool(os.environ.get("RUBATO_SPLIT_DEBUG")), [writing])
            signal.alarm(REHEARSAL_SECONDS_MAX)
            try:
                result = function()
            except BaseException as error:  # The script's code may raise anything.
                if os.environ.get("RUBATO_SPLIT_DEBUG"):
                    traceback.print_exc()
                result = RuntimeError(f"{type(error).__name__}: {error}")
            data = memoryview(pickle.dumps(result))
            while data:
                data = data[os.write(writing, data):]
        finally:
            os._exit(0)
    os.close(writing)
    chunks: List[bytes] = []
    while True:
        chunk = os.read(reading, READ_BYTES)
        if not chunk:
            break
        chunks.append(chunk)
    os.close(reading)
    os.waitpid(pid, 0)
    data = b"".join(chunks)
    return pickle.loads(data) if data else RuntimeError("the check did not end in time, or died")


class BackgroundChild:
    """A function that runs in a forked child while the script goes on.

    Its result comes through memory: a pipe would make copies of the leader unsafe.
    """

    def __init__(self, function: Callable[[], Any], is_waited_for: bool = False) -> None:
        self.memory = mmap.mmap(-1, BACKGROUND_BYTES)
        self.pid = fork()
        if self.pid == 0:
            try:
                become_child(bool(os.environ.get("RUBATO_SPLIT_DEBUG")))
                if not is_waited_for:
                    os.nice(NICE)
                signal.alarm(BACKGROUND_SECONDS_MAX)  # It may hang, on a lock held at the fork.
                data = pickle.dumps(function())
                self.memory[8:8 + len(data)] = data
                self.memory[:8] = len(data).to_bytes(8, "little")
            finally:
                os._exit(0)

    def result(self, waits: bool) -> Any:
        """What the function returned; RUNNING while it does not yet, None if it never will."""
        try:
            if os.waitpid(self.pid, 0 if waits else os.WNOHANG)[0] == 0:
                return RUNNING
        except ChildProcessError:  # It was the child of a leader that died.
            return None
        size = int.from_bytes(self.memory[:8], "little")
        return pickle.loads(self.memory[8:8 + size]) if size else None
