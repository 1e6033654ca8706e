"""A fork of the leader that sleeps, and goes on in its place if the leader is killed.

Made at a step boundary, inside the first call of a root module after the step. The copy has all of
the script's Python state; what a fork shares with its parent (shared memory, files, output) is
saved besides, and brought back when it wakes. Then it is the leader: it returns from the boundary
into the same call of the root module, at the step of the copy, and what its predecessor did since
is computed again.

The next copy replaces it. How often that happens is a matter of cost: copies may take a small
share of the run time.
"""

import gc
import os
import random
import resource
import select
import signal
import sys
import time
from typing import Any, Callable, List, Optional, Set

import torch

from rubato.split.survival import holder, loader_workers, output, safety, shared_memory
from rubato.split.survival.file_journal import WATCH, FileJournal, unwatched
from rubato.split.survival.open_files import OpenFiles, UnsafeDescriptor
from rubato.split.survival.page import LeaderPage
from rubato.split.survival.shared_memory import SavedMemory, UnsafeMemory, exclude_map

COST_SHARE_MAX = 0.01  # Of the run time.
FIRST_STEP = 3  # By then optimizers have their state and the first rehearsals are over.
INTERVAL_SECONDS_MIN = 1.0
FAULT_SECONDS = 1e-6  # A page that the leader writes again after a fork is copied first.
FAILURES_MAX = 3  # Copies that could not be made, or were killed; then we stop trying.
READY_SECONDS = 120.0  # A copy that takes longer to save memory is given up.
_EVERY = "RUBATO_COPY_EVERY"  # For tests and `rubato check`: a copy every so many steps.


class CopySchedule:
    """When the next copy is due."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.every = int(os.environ.get(_EVERY, "0"))
        self.clock = clock
        self.begin = clock()
        self.spent = 0.0
        self.copies = 0
        self.last = -1.0
        self.faults_before = 0
        self.is_forced = False  # The present copy has become worthless.

    def is_due(self, step: int) -> bool:
        if step < FIRST_STEP:
            return False
        if self.every:
            return step % self.every == 0
        now = self.clock()
        self.add_faults()
        if self.last < 0:
            return True
        is_affordable = self.spent <= COST_SHARE_MAX * (now - self.begin)
        return is_affordable and (self.is_forced or now - self.last >= INTERVAL_SECONDS_MIN)

    def made(self, seconds: float) -> None:
        self.spent += seconds
        self.copies += 1
        self.last = self.clock()
        self.is_forced = False
        self.faults_before = page_faults()

    def add_faults(self) -> None:
        """The step after a copy is slower: pages are copied when they are written."""
        if self.faults_before:
            self.spent += (page_faults() - self.faults_before) * FAULT_SECONDS
            self.faults_before = 0


def page_faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


class Boundary:
    """What a copy needs to go back to where it was made."""

    def __init__(self, step: int, files: OpenFiles) -> None:
        self.step = step
        self.files = files
        self.journal = FileJournal()
        for file in files.written:
            self.journal.keep_size(file.path, file.size)
        self.marks = output.marks()
        self.python_random = random.getstate()  # The module draws a new seed in a forked process.
        self.collects_garbage = gc.isenabled()
        self.has_pool = safety.has_thread_pool()
        self.mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


class SleepingCopy:
    """The leader's side, and after a fork the copy's."""

    def __init__(self, controller: Any, held: holder.Held) -> None:
        self.controller = controller
        self.page: LeaderPage = held.page
        self.wake = held.wake
        self.schedule = CopySchedule()
        self.pid = 0  # Of the copy that sleeps now.
        self.boundary: Optional[Boundary] = None  # Of that copy.
        self.failures = 0
        self.after_waking: List[Callable[[], None]] = []  # For others whom a fork concerns.
        self.is_wanted: Callable[[], bool] = lambda: True  # Now, for a next boundary.
        WATCH.on_too_large = self.on_file_too_large
        safety.allow_children(lambda: {self.pid, *controller.child_pids()})
        exclude_map(self.page.memory)
        for file in output.FILES.values():
            exclude_map(file.ring.memory)

    def at_boundary(self) -> None:
        step = self.controller.steps.count
        self.page.step = step
        output.tell_differences(self.controller.notices.tell)
        if self.boundary is not None and not output.has_room(self.boundary.marks):
            self.schedule.is_forced = True
        if self.failures >= FAILURES_MAX or not self.is_wanted():
            return
        if self.schedule.is_due(step):
            begin = time.monotonic()
            while self.make(step):  # One that woke needs a copy of its own at once.
                begin = time.monotonic()
            self.schedule.made(time.monotonic() - begin)

    def make(self, step: int) -> bool:
        """True in the copy, once it is the leader."""
        output.flush()
        try:
            reason = safety.reason_against_copy()
            files = OpenFiles(self.own_descriptors() | self.loader_descriptors())
            exclude_unused(self.controller.memory)
            shared_memory.regions()
        except (UnsafeDescriptor, UnsafeMemory) as error:
            reason = str(error)
        if reason is not None:
            self.controller.notices.tell(
                "no-sleeping-copy", "if this process is killed the job goes on from its last "
                f"snapshot, not from its last steps, because {reason}")
            self.retire()
            return False
        return self.fork(Boundary(step, files))

    def fork(self, boundary: Boundary) -> bool:
        ready, readies = os.pipe()
        pid = os.fork()
        if pid != 0:
            os.close(readies)
            self.keep(pid, boundary, ready)
            signal.pthread_sigmask(signal.SIG_SETMASK, boundary.mask)
            return False
        os.close(ready)
        random.setstate(boundary.python_random)
        self.sleep(readies).restore()
        self.become_leader(boundary)
        self.tell_waking(boundary.step)
        return True

    def tell_waking(self, step: int) -> None:
        page, notices = self.page, self.controller.notices
        if page.is_abandoned:
            page.is_abandoned = 0
            return
        notices.told.pop("woken", None)
        notices.tell("woken", "the process that ran the script was killed "
                     f"({signal_name(page.signal)}) after step {page.furthest}; a copy of it goes "
                     f"on from step {step}")

    def keep(self, pid: int, boundary: Boundary, ready: int) -> None:
        """In the leader: waits until the copy has saved what we are about to change."""
        is_ready = bool(select.select([ready], [], [], READY_SECONDS)[0]) and os.read(ready, 1)
        os.close(ready)
        if not is_ready:
            end(pid)
            boundary.journal.close()
            self.fail("could not be made")
            return
        old, old_boundary = self.pid, self.boundary
        self.page.copy_step = boundary.step
        self.page.copy = pid
        self.pid, self.boundary = pid, boundary
        WATCH.journal = boundary.journal
        if old_boundary is not None:
            old_boundary.journal.close()
        if old and not end(old):
            self.fail("was killed")

    def sleep(self, readies: int) -> SavedMemory:
        """In the copy: nothing happens here until the holder says so."""
        gc.disable()
        prefer_for_memory_killer(True)
        try:
            memory = SavedMemory()
        except (UnsafeMemory, MemoryError, OSError):
            os._exit(1)
        os.write(readies, b"r")
        os.close(readies)
        if os.read(self.wake, 1) != b"w":
            os._exit(1)  # The holder is gone, and with it the job.
        prefer_for_memory_killer(False)
        holder.die_with_parent()
        return memory

    def become_leader(self, boundary: Boundary) -> None:
        WATCH.journal, WATCH.owner = None, os.getpid()
        with unwatched():
            boundary.journal.undo()
        boundary.journal.close()
        boundary.files.restore()
        output.go_on(boundary.marks)
        self.pid, self.boundary = 0, None
        self.page.step = boundary.step
        forget_children()
        release_signals(boundary.mask)  # Processes that are started inherit the mask.
        if boundary.has_pool:
            torch.set_num_threads(1)  # OpenMP would wait for ever for threads that are not here.
        loader_workers.revive()
        self.controller.become_leader()
        self.connect_again()
        for call in self.after_waking:
            call()
        if boundary.collects_garbage:
            gc.enable()

    def connect_again(self) -> None:
        link = self.controller.link
        if link.core is not None:
            try:
                link.core.after_fork()
            except ConnectionError as error:
                link.core = None
                self.controller.notices.tell("no-supervisor", "the copy of a process that was "
                                             f"killed cannot reach its supervisor: {error}")

    def own_descriptors(self) -> Set[int]:
        core = self.controller.link.core
        return {self.wake, *(core.descriptors if core is not None else ())}

    def loader_descriptors(self) -> Set[int]:
        return loader_workers.known_descriptors()

    def on_file_too_large(self, name: str) -> None:
        """The copy could not bring this back, so it must not wake. The next one is made soon."""
        self.retire()
        self.schedule.is_forced = True

    def retire(self) -> None:
        """Ends the present copy."""
        self.page.copy = 0
        WATCH.journal = None
        pid, self.pid = self.pid, 0
        if self.boundary is not None:
            self.boundary.journal.close()
            self.boundary = None
        if pid:
            end(pid)

    def fail(self, what: str) -> None:
        self.failures += 1
        if self.failures == FAILURES_MAX:
            self.retire()
            self.controller.notices.tell(
                "no-sleeping-copy", "if this process is killed the job goes on from its last "
                f"snapshot, because its copy {what} {FAILURES_MAX} times, perhaps for want of "
                "memory")


def exclude_unused(memory: Any) -> None:
    """Of the region of leader and replicas only what is kept for good counts."""
    if memory is not None:
        base = memory.region.address
        shared_memory.exclude("split", base + memory.permanent_next, base + memory.region.size)


def end(pid: int) -> bool:
    """Ends a copy. False if it was gone already."""
    is_blocked = signal.SIGCHLD in signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    was_pending = signal.SIGCHLD in signal.sigpending()
    try:
        is_alive = os.waitpid(pid, os.WNOHANG)[0] == 0
        if is_alive:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    except ChildProcessError:  # The script has waited for any child.
        is_alive = False
    if not was_pending:  # The script is not told of the end of a process it never knew.
        signal.sigtimedwait({signal.SIGCHLD}, 0)
    if not is_blocked:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    return is_alive


def release_signals(mask: Set[Any]) -> None:
    """Of the signals that came to our group while we slept, only wishes that the script should end
    are still of interest."""
    wishes = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
    while signal.sigpending() - wishes:
        signal.sigtimedwait(signal.sigpending() - wishes, 0)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def prefer_for_memory_killer(is_preferred: bool) -> None:
    """If memory runs out a copy goes before its leader."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000" if is_preferred else "0")
    except OSError:
        pass


def forget_children() -> None:
    """The processes of the dead leader were ended by the holder."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None:
        process._children.clear()
    tracker = sys.modules.get("multiprocessing.resource_tracker")
    if tracker is not None:
        tracker._resource_tracker._fd = tracker._resource_tracker._pid = None


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
