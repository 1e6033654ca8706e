"""The process that stays when the leader dies.

A leader is started as `python3 train.py`. Before the script begins the interpreter forks: the
child runs the script, the parent becomes its holder. To whoever started it the holder looks like
the script: it passes signals on, stops and continues with the leader, and ends as the leader ended,
with the same code or by the same signal. It also adopts what the leader leaves behind. If the
leader is killed and a copy of it sleeps (sleeping_copy.py), the holder ends the other orphans,
which may still be writing to shared memory, wakes the copy, and waits for that one instead.

The holder stays in the leader's process group, so that a signal to the group still reaches all.
Nothing is imported here that an interpreter would not load anyway, but ctypes: this runs at the
start of every leader.
"""

import ctypes
import fcntl
import mmap
import os
import resource
import select
import signal
import sys
import time
from typing import NoReturn, Optional, Set

from rubato.split.survival.page import LeaderPage

# Deaths that are not the script's own end. SIGTERM, SIGINT and SIGHUP are wishes of somebody, so a
# leader that they ended stays ended.
DEATHS = {
    signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT,
}
DEATHS_MAX = 3  # Without a leader that comes further than those before; then the job has died.
FIRST_DESCRIPTOR = 240  # Ours are above, so that a script's own get the numbers they always had.
ANSWER_SECONDS = 1.0  # A probe that somebody stopped does not stop the holder.
GROUP_SIGNAL_SECONDS = 0.002  # A signal to a group has reached all of its members after this.
ORPHANS_SECONDS = 5.0  # Within this killed processes are gone, or cannot be.

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 1, 4, 15, 36
_libc = ctypes.CDLL(None, use_errno=True)


class Held:
    """What a leader knows of its holder."""

    def __init__(self, page: LeaderPage, wake: int) -> None:
        self.page = page
        self.wake = wake  # Readable for the copy that shall wake; at its end if the holder is gone.
        self.holder = os.getppid()


HELD: Optional[Held] = None  # In the leader and its forks, if there is a holder.


def control_process(option: int, value: int) -> None:
    """prctl(2). Its failures here only cost comfort."""
    _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def die_with_parent() -> None:
    control_process(_PR_SET_PDEATHSIG, int(signal.SIGKILL))


def pending_signals(process: int) -> Set[int]:
    """Of the process as a whole, not of one thread."""
    with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as status:
        pending = next(int(line.split()[1], 16) for line in status if line.startswith("ShdPnd"))
    return {number for number in signal.valid_signals() if pending >> (number - 1) & 1}


def raise_descriptor(descriptor: int) -> int:
    """The same descriptor under a high number, which is closed when another program is started."""
    try:
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR)
    except OSError:  # The limit of open files is low.
        return descriptor
    os.close(descriptor)
    return high


def hold() -> Optional[Held]:
    """Call this in a process that is about to run the script of a job. Returns in the leader; the
    process that was started never comes back from here."""
    global HELD
    # Threads of Python would be lost to the script by the fork; those of OpenBLAS come back.
    has_threads = "threading" in sys.modules and sys.modules["threading"].active_count() > 1
    if has_threads or HELD is not None:
        return HELD
    page = LeaderPage()
    wake, wakes = (raise_descriptor(end) for end in os.pipe())
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    # A starter that ignores SIGCHLD hands that on, and then nobody could wait.
    old_child_handler = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # The leader begins when the holder is ready: it can tell only then which signals both got.
    ready, readies = os.pipe()
    holder = os.getpid()
    pid = os.fork()
    if pid == 0:
        die_with_parent()
        if os.getppid() != holder:  # It was killed before we asked.
            os._exit(1)
        os.close(wakes)
        os.close(readies)
        os.read(ready, 1)
        os.close(ready)
        signal.signal(signal.SIGCHLD, old_child_handler or signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
        page.leader = os.getpid()
        HELD = Held(page, wake)
        return HELD
    try:
        os.close(wake)
        holder = Holder(page, pid, wakes, readies)
        holder.drop_signals_leader_has()
        os.close(readies)
        holder.run()
    finally:
        os._exit(1)  # Not reached; an error here must not run the script a second time.


class GroupProbe:
    """A process of our group that counts the signals it gets: each was sent to the whole group.

    That is how the holder knows whether the leader has got a signal already. Nothing in a signal
    itself tells.
    """

    def __init__(self, readies: int) -> None:
        size = signal.NSIG * 8
        self.counts = memoryview(mmap.mmap(-1, size)).cast("Q")  # By signal; shared with the probe.
        self.matched = [0] * signal.NSIG  # Those of the counted that the holder has got as well.
        self.holder = os.getpid()
        self.answers, answers = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            die_with_parent()
            os.close(readies)
            self.count_signals(answers)
        os.close(answers)

    def count_signals(self, answers: int) -> NoReturn:
        while os.getppid() == self.holder:
            info = signal.sigwaitinfo(signal.valid_signals())
            # The highest number comes last: all that were there before it have been counted.
            if info.si_signo == signal.SIGRTMAX and info.si_pid == self.holder:
                os.write(answers, b"a")
            else:
                self.counts[info.si_signo] += 1
        os._exit(0)

    def match(self, number: int) -> bool:
        """Whether the signal that the holder has just got was sent to the whole group."""
        self.await_counts()
        if self.counts[number] == self.matched[number]:
            time.sleep(GROUP_SIGNAL_SECONDS)  # The probe may come after the holder.
            self.await_counts()
        is_for_group = self.counts[number] != self.matched[number]
        while is_for_group and number in signal.sigpending():
            # Two in a row may become one anywhere on their way, so they are one here.
            signal.sigtimedwait({number}, 0)
            self.await_counts()
        self.matched[number] = self.counts[number]
        return is_for_group

    def await_counts(self) -> None:
        """Returns when the probe has counted what it was sent, however busy the machine is."""
        os.kill(self.pid, signal.SIGRTMAX)
        if select.select([self.answers], [], [], ANSWER_SECONDS)[0]:
            os.read(self.answers, 1)

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Holder:
    """Waits for the leader, and for signals. Every signal is blocked, so none is missed."""

    def __init__(self, page: LeaderPage, leader: int, wakes: int, readies: int) -> None:
        self.page = page
        self.leader = leader
        self.wakes = wakes
        control_process(_PR_SET_CHILD_SUBREAPER, 1)
        _libc.prctl(_PR_SET_NAME, b"rubato-holder", 0, 0, 0)
        self.let_go_of_files({wakes, readies})
        self.probe = GroupProbe(readies)

    def let_go_of_files(self, needed: Set[int]) -> None:
        """Whoever reads what the script writes sees its end when the script closes it."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        # Other descriptors were handed to the script by its starter.
        for name in os.listdir("/proc/self/fd"):
            if int(name) > 2 and int(name) not in needed:
                try:
                    os.close(int(name))
                except OSError:
                    pass  # That of the listing itself.

    def drop_signals_leader_has(self) -> None:
        """Before there was a probe, a signal to the group reached the leader without its count."""
        self.probe.await_counts()
        for number in signal.sigpending() & pending_signals(self.leader):
            signal.sigtimedwait({number}, 0)
            self.probe.matched[number] = self.probe.counts[number]

    def run(self) -> NoReturn:
        while True:
            self.look_at_children()
            info = signal.sigwaitinfo(signal.valid_signals())
            if info.si_signo != signal.SIGCHLD and not self.probe.match(info.si_signo):
                self.send(info.si_signo)

    def send(self, number: int) -> None:
        try:
            os.kill(self.leader, number)
        except OSError:
            pass  # It has ended; we shall hear of it.

    def look_at_children(self) -> None:
        while True:
            options = os.WEXITED | os.WSTOPPED | os.WCONTINUED | os.WNOHANG
            child = os.waitid(os.P_ALL, 0, options)
            if child is None:
                return
            if child.si_code == os.CLD_STOPPED:
                if child.si_pid == self.leader and child.si_status != signal.SIGSTOP:
                    os.kill(os.getpid(), signal.SIGSTOP)  # The shell should see the job stop.
            elif child.si_pid == self.leader and child.si_code != os.CLD_CONTINUED:
                is_exit = child.si_code == os.CLD_EXITED
                self.on_end(child.si_status if is_exit else 0, 0 if is_exit else child.si_status)

    def on_end(self, code: int, number: int) -> None:
        copy = self.page.copy
        if number in DEATHS and self.is_child(copy) and self.may_go_on():
            self.end_others({copy, self.probe.pid})
            if self.is_child(copy):
                self.wake(copy, number)
                return
        if self.is_child(copy):
            os.kill(copy, signal.SIGKILL)
            os.waitpid(copy, 0)
        self.probe.end()
        leave_as(code, number)

    def may_go_on(self) -> bool:
        """Counts a death. A leader that always dies at the same place is not woken for ever."""
        page = self.page
        if page.is_abandoned:
            return True
        is_further = page.step > page.furthest or page.deaths == 0
        page.deaths = 1 if is_further else page.deaths + 1
        page.furthest = max(page.furthest, page.step)
        return page.deaths <= DEATHS_MAX

    def wake(self, copy: int, number: int) -> None:
        self.leader = copy
        self.page.copy = 0
        self.page.leader = copy
        self.page.signal = number
        self.page.woken += 1
        os.write(self.wakes, b"w")

    def is_child(self, pid: int) -> bool:
        """Whether a process is ours, and alive."""
        if pid == 0:
            return False
        try:
            return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:
            return False

    def end_others(self, kept: Set[int]) -> None:
        """Ends all orphans but those kept, and those that they leave."""
        until = time.monotonic() + ORPHANS_SECONDS
        while time.monotonic() < until:
            others = children() - kept
            if not others:
                return
            for pid in others:
                os.kill(pid, signal.SIGKILL)  # Not waited for yet, so the number is still its own.
            for pid in others:
                self.await_end(pid, until)

    def await_end(self, pid: int, until: float) -> None:
        while os.waitpid(pid, os.WNOHANG)[0] == 0 and time.monotonic() < until:
            time.sleep(0.0005)


def children() -> Set[int]:
    """Of this process, which has one thread; also those that have ended."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return {int(pid) for pid in file.read().split()}


def leave_as(code: int, number: int) -> NoReturn:
    """Ends as the leader did. Its core, if any, has been written."""
    if number:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        control_process(_PR_SET_DUMPABLE, 0)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, {n for n in signal.valid_signals()} - {number})
        os.kill(os.getpid(), number)
        signal.pause()
    os._exit(code)
