"""Measures the live platform under load: `make bench-live`.

Starts the real program with a durable journal and lets `live_load` fill its queue over loopback;
ends it with SIGKILL, starts it again on the same journal and waits until it serves; puts load on
it; ends it once more. Prints a table and writes JSON.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
GOALS = {  # Of the project: at least, at most.
    "submissions_per_second": (1000, None),
    "quote_p99_seconds": (None, 0.050),
    "restart_seconds": (None, 1.0),
    "workers": (1000, None),
}
START_SECONDS_MAX = 60.0
TICKS = os.sysconf("SC_CLK_TCK")


class Platform:
    """One run of the program on a state directory."""

    def __init__(self, program: List[str], log: Path) -> None:
        self.began = time.monotonic()
        self.log = open(log, "ab")
        self.process = subprocess.Popen(
            program, stdout=subprocess.PIPE, stderr=self.log, text=True, start_new_session=True
        )
        self.url, self.agents, self.says = "", "", ""
        while not (self.url and self.agents):
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"bench-live: the platform did not start: {self.says}")
            self.says += line
            self.url = self.url or self._found(r"listens on (https?://\S+)")
            self.agents = self.agents or self._found(r"agents join at (\S+)")

    def _found(self, pattern: str) -> str:
        match = re.search(pattern, self.says)
        return match.group(1) if match else ""

    def wait_until_ready(self) -> float:
        """Seconds from the start of the process to the first answer about jobs."""
        while time.monotonic() - self.began < START_SECONDS_MAX:
            try:
                with urllib.request.urlopen(self.url + "/readyz", timeout=5):
                    pass
                with urllib.request.urlopen(self.url + "/v1/jobs?page_size=1", timeout=5):
                    return time.monotonic() - self.began
            except (urllib.error.URLError, OSError):
                time.sleep(0.002)
        raise SystemExit("bench-live: the platform does not become ready")

    def usage(self) -> Tuple[float, int]:
        """Processor seconds so far, and the most memory it had, in bytes."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        peak = int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) * 1024
        return (int(fields[11]) + int(fields[12])) / TICKS, peak

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def newest_job(url: str) -> int:
    with urllib.request.urlopen(url + "/v1/jobs?page_size=1", timeout=30) as reply:
        return int(json.load(reply)["jobs"][0]["id"])


def row(name: str, value: str, goal: str = "", held: bool = True) -> str:
    return f"  {name:<44}{value:>14}   {goal:<12}{'' if held else 'MISSED'}".rstrip()


def goal_row(name: str, value: float, text: str) -> str:
    least, most = GOALS[name]
    held = (least is None or value >= least) and (most is None or value <= most)
    goal = f">= {least}" if least is not None else f"<= {most}"
    return row(name, text, goal, held)


def table(result: Dict[str, Any]) -> str:
    load = result["phases"]
    steady, fastest = load["steady"], load["fastest"]
    lines = [
        result["program"],
        f"{result['jobs_queued_before']} queued jobs, {result['jobs_queued_after']} at the end; "
        f"{steady['workers']} emulated workers in {steady['jobs_running']} jobs, "
        f"{steady['reports_per_second']:.0f} reports/s",
        goal_row(
            "submissions_per_second",
            result["submissions_per_second"],
            f"{result['submissions_per_second']:.0f}",
        ),
        row("  latency at that rate p50/p99", ms(fastest["submit_seconds"])),
        row("  filling the queue, submissions/s", f"{load['fill']['submissions_per_second']:.0f}"),
        goal_row(
            "quote_p99_seconds",
            result["quote_p99_seconds"],
            f"{1e3 * result['quote_p99_seconds']:.1f} ms",
        ),
        row("  quote p50/p99 while", ms(steady["quote_seconds"])),
        row("  submissions/s come in", f"{steady['submissions_per_second']:.0f}"),
        row("  their latency p50/p99", ms(steady["submit_seconds"])),
        goal_row("restart_seconds", result["restart_seconds"], f"{result['restart_seconds']:.2f}"),
        row("  with jobs in the journal", str(result["restart"]["jobs"])),
        row("  the same at the end", f"{result['restart_with_all']['seconds']:.2f}"),
        row("  with jobs in the journal", str(result["restart_with_all"]["jobs"])),
        goal_row("workers", result["workers"], str(result["workers"])),
        row("controller CPU, cores while steady", f"{result['cpu_cores_steady']:.2f}"),
        row("controller memory, most", f"{result['memory_bytes_max'] / 2**20:.0f} MiB"),
        row("journal on disk", f"{result['journal_bytes'] / 2**20:.0f} MiB"),
    ]
    return "\n".join(lines)


def ms(latencies: Dict[str, float]) -> str:
    return f"{1e3 * latencies['p50']:.1f}/{1e3 * latencies['p99']:.1f} ms"


def put_load(platform: Platform, flags: argparse.Namespace, first: int) -> Dict[str, Any]:
    """Its phases, and the cores that the platform used in the last seconds of it."""
    command = [
        str(flags.build / "live_load"),
        f"--url={platform.url}",
        f"--agents={platform.agents}",
        f"--queued={flags.queued}",
        f"--seconds={flags.seconds}",
        f"--first={first}",
    ]
    load = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    marks = [(time.monotonic(), platform.usage()[0])]  # Moments and CPU seconds until then.
    output = None
    while output is None:
        try:
            output, _ = load.communicate(timeout=0.5)
        except subprocess.TimeoutExpired:
            marks.append((time.monotonic(), platform.usage()[0]))
    if load.returncode != 0:
        raise SystemExit(f"bench-live: live_load ended with {load.returncode}")
    end = marks[-1]
    begin = next(mark for mark in marks if mark[0] > end[0] - flags.seconds)
    cores = (end[1] - begin[1]) / (end[0] - begin[0]) if end != begin else 0.0
    return {"phases": json.loads(output), "cores": cores}


def restarted(platform: Platform, program: List[str], log: Path) -> Tuple[Platform, Dict[str, Any]]:
    """The platform again after SIGKILL, and how that went."""
    newest = newest_job(platform.url)
    platform.kill()
    again = Platform(program, log)
    seconds = again.wait_until_ready()
    found = newest_job(again.url)
    if found != newest:
        raise SystemExit(f"bench-live: job {newest} was lost; the newest is {found}")
    return again, {"seconds": seconds, "jobs": found, "says": again.says.strip()}


def measure(state: Path, flags: argparse.Namespace) -> Dict[str, Any]:
    program = [word.format(state=state) for word in flags.program.split()]
    log = state / "stderr.log"
    platform = Platform(program, log)
    platform.wait_until_ready()
    fill = put_load(platform, flags, first=0)
    platform, restart = restarted(platform, program, log)
    load = put_load(platform, flags, first=restart["jobs"] + 1)
    memory = platform.usage()[1]
    platform, last_restart = restarted(platform, program, log)
    platform.kill()
    phases = {**fill["phases"], **load["phases"]}
    steady = phases["steady"]
    queued = phases["fill"]["accepted"] - steady["jobs_running"]
    return {
        "submissions_per_second": phases["fastest"]["submissions_per_second"],
        "quote_p99_seconds": steady["quote_seconds"]["p99"],
        "restart_seconds": restart["seconds"],
        "workers": steady["workers"],
        "jobs_queued_before": queued,
        "jobs_queued_after": queued + phases["fastest"]["accepted"] + steady["accepted"],
        "program": " ".join(program).replace(str(state), "STATE").replace(str(ROOT) + "/", ""),
        "restart": restart,
        "restart_with_all": last_restart,
        "cpu_cores_steady": load["cores"],
        "memory_bytes_max": memory,
        "journal_bytes": sum(file.stat().st_size for file in state.glob("journal.sqlite*")),
        "phases": phases,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--program", help="with {state} for its directory; by default `rubato up`")
    parser.add_argument("--queued", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--keep", action="store_true", help="the state directory")
    flags = parser.parse_args()
    options = "--state {state} --port 0 --agents 127.0.0.1:0 --emulate 1x1"
    flags.program = flags.program or f"{flags.build / 'rubato'} up {options}"
    state = Path(tempfile.mkdtemp(prefix="bench-live-", dir=flags.build))
    try:
        result = measure(state, flags)
    finally:
        if not flags.keep:
            shutil.rmtree(state, ignore_errors=True)
    flags.output.parent.mkdir(parents=True, exist_ok=True)
    flags.output.write_text(json.dumps(result, indent=2) + "\n")
    print(table(result))
    failed = sum(phase["failed"] for phase in result["phases"].values())
    if failed:
        print(f"bench-live: {failed} requests failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
