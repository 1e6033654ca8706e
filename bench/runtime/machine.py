"""How programs are started so that other work on the machine disturbs them little, and how much it
did disturb.

Linux shares processors between sessions, so a raised priority helps only a session of its own.
"""

import ctypes
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Optional, Sequence

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
HERE = Path(__file__).resolve().parent
OTHERS_SHARE_MAX = 0.05


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment() -> Dict[str, str]:
    """The settings that `rubato train` gives to workers, for peers as well."""
    flags = Path("/proc/cpuinfo").read_text().split("\nflags", 1)[-1].split("\n", 1)[0].split()
    core = "SkylakeX" if "avx512f" in flags else "Haswell" if "avx2" in flags else None
    settings = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "PYTHONPATH": str(BUILD / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if core is not None:
        settings.setdefault("OPENBLAS_CORETYPE", core)
    return settings


def launch(command: Sequence[object], log: Path) -> subprocess.Popen:
    """Starts a program in a session of its own, ahead of others where that is permitted."""
    with open(log, "ab") as errors, open(log.with_suffix(".out"), "wb") as output:
        process = subprocess.Popen(
            [str(word) for word in command],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
    try:
        Path(f"/proc/{process.pid}/autogroup").write_text("-10")
    except OSError:
        pass  # Not permitted, or no such thing in this kernel.
    return process


def program(name: str, *arguments: object) -> List[object]:
    return [sys.executable, HERE / name, *arguments]


def finish(process: subprocess.Popen, log: Path, seconds: float) -> str:
    """Waits for a program, and returns what it printed."""
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        end_sessions([process])
        code = None
    if code != 0:
        raise RuntimeError(f"{process.args[:3]} ended with {code}:\n{log.read_text()[-3000:]}")
    return log.with_suffix(".out").read_text()


def end_sessions(processes: Sequence[subprocess.Popen]) -> None:
    """Ends programs and all that they started."""
    for process in processes:
        try:
            os.killpg(process.pid, 9)
        except ProcessLookupError:
            pass
        process.wait()


PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Workers that outlive their starter become our children, so that their time counts as ours."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans() -> None:
    """Only for moments at which nothing is running that somebody still waits for."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


class Contention:
    """How much of the machine others used between two moments at which nothing of ours ran."""

    def __init__(self) -> None:
        self.machine = self.machine_seconds()
        self.own = self.own_seconds()

    @staticmethod
    def machine_seconds() -> List[float]:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
        return [int(field) / os.sysconf("SC_CLK_TCK") for field in fields]

    @staticmethod
    def own_seconds() -> float:
        reap_orphans()
        usages = [resource.getrusage(who) for who in
                  (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    def others_share(self) -> float:
        """Of all processor time: what neither idled nor was spent by what we started."""
        spent = [after - before for after, before in zip(self.machine_seconds(), self.machine)]
        idle = spent[3] + spent[4]
        own = self.own_seconds() - self.own
        return max(0.0, (sum(spent) - idle - own) / sum(spent))

    def warning(self) -> Optional[str]:
        share = self.others_share()
        if share <= OTHERS_SHARE_MAX:
            return None
        return (f"WARNING: others used {share:.0%} of the processors. Ratios are of things that ran"
                " in turn, times are longer than they should be; measure again on a quiet machine.")


def load_average() -> str:
    return " ".join(f"{load:.2f}" for load in os.getloadavg())
