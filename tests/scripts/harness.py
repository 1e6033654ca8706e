"""Runs a script of the corpus: alone, with other roundings, and elastically with events."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from catalog import Entry
from outcome import Outcome, Row, files_of

HERE = Path(__file__).resolve().parent
ALONE_SECONDS_MAX = 300.0  # Of one run; a busy machine is slow.
# An elastic run may take this much longer than the same script alone has just taken.
ELASTIC_FACTOR = 12.0
ELASTIC_SECONDS = 60.0
TIMED_OUT = -1000  # In place of an exit code.
ENDING_SECONDS = 2.0  # That replicas have to end after their leader.
RUNNING_SECONDS = 3.5  # Before a run is suspended.
SUSPENDED_SECONDS = 0.3
LOOK_SECONDS = 0.1  # Between looks at whether a run was stopped.
# Of what `rubato train` prints when a script has ended.
TABLE_BEGIN = "\ngen  cause "
TABLE_END = re.compile(r"\n\w+ after (\d+) steps[^\n]*\n")
LEADER_NOTE = "note: the process that ran the script was killed"
TABLE_ROW = re.compile(r"^ *\d+  (?P<cause>.{34}) +(?P<workers>\d+) +(?P<step>\d+) +"
                       r"(?P<pause>[0-9.]+) ms ", re.MULTILINE)
# A script must not see what this process was given for other jobs.
INHERITED = {name: value for name, value in os.environ.items()
             if not name.startswith(("RUBATO", "CORPUS", "OMP_", "OPENBLAS_", "PYTHON"))}


def core_type() -> str:
    """The name OpenBLAS has for this processor's kernels, as `rubato train` chooses it."""
    flags: Optional[set] = None
    vendor = ""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            key, _, value = line.partition(":")
            if key.strip() == "vendor_id":
                vendor = value.strip()
            elif key.strip() == "flags":
                flags = set(value.split()) if flags is None else flags & set(value.split())
    has = (flags or set()).issuperset
    if has({"avx2", "fma", "bmi1", "bmi2"}):
        if has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}):
            return "SkylakeX"
        return "Zen" if vendor in ("AuthenticAMD", "HygonGenuine") else "Haswell"
    return "Sandybridge" if has({"avx"}) else ""


@dataclass
class Setting:
    """How a script is run."""

    threads: int = 1
    is_double: bool = False
    variables: Dict[str, str] = field(default_factory=dict)

    def environment(self, probe: Path, python_path: Sequence[str]) -> Dict[str, str]:
        kernels = {"OPENBLAS_CORETYPE": core_type()} if core_type() else {}
        return {
            **INHERITED,
            **kernels,
            "OMP_NUM_THREADS": str(self.threads),
            "OPENBLAS_NUM_THREADS": str(self.threads),
            "PYTHONPATH": ":".join([str(HERE / "probe"), *python_path]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "CORPUS_PROBE": str(probe),
            **({"CORPUS_DOUBLE": "1"} if self.is_double else {}),
            **self.variables,
        }


@dataclass
class Events:
    """What happens to an elastic run. Without a supervisor, numbers of workers change by root call
    and replicas are killed by shared call; with one, all happens by step."""

    plan: List[Tuple[int, int]] = field(default_factory=lambda: [(0, 2)])
    kills: List[Tuple[int, str]] = field(default_factory=list)
    call_kills: List[Tuple[int, str]] = field(default_factory=list)  # By shared call, always.
    leader_kills: List[int] = field(default_factory=list)  # Only with a supervisor.
    stops: List[int] = field(default_factory=list)  # Steps; only with a supervisor.
    group_kills: List[int] = field(default_factory=list)  # Likewise: all processes at once.
    snapshot_steps: int = 0
    suspends: bool = False
    seconds_max: float = ALONE_SECONDS_MAX  # Of one run.

    @staticmethod
    def drawn(kind: str, calls: int, steps: int, seed: int) -> "Events":
        """Resizes 1, 2, 3, 1, 2 and kills, at places that depend on the seed; `calls` are those
        of root modules, or steps where there is a supervisor."""
        generator = random.Random(seed)
        events = Events()
        if kind in ("resizes", "mixed"):
            events.plan = [(0, 1)]
            for share, workers in ((0.1, 2), (0.32, 3), (0.55, 1), (0.68, 2)):
                at = int(calls * (share + generator.uniform(-0.04, 0.04)))
                events.plan.append((max(at, events.plan[-1][0] + 1), workers))
        if kind in ("kills", "mixed"):
            events.kills = [(int(steps * generator.uniform(0.16, 0.28)), "F"),
                            (int(steps * generator.uniform(0.38, 0.5)), "B")]
        if kind in ("leader", "mixed"):
            events.leader_kills = [int(steps * generator.uniform(0.6, 0.9))]
        if kind == "group":
            events.group_kills = [int(steps * generator.uniform(0.3, 0.5)),
                                  int(steps * generator.uniform(0.6, 0.9))]
            events.snapshot_steps = max(1, steps // 10)
        events.suspends = kind in ("suspend", "mixed")
        return events

    def train_flags(self) -> List[str]:
        """For `rubato train`."""
        resizes = [f"at step {at}: {workers}" for at, workers in self.plan[1:]]
        kills = [f"worker 1 at step {max(at, 1)}" for at, _ in self.kills]
        kills += [f"worker 0 at step {at}" for at in self.leader_kills]
        flags = ["--workers", str(self.plan[0][1])]
        flags += ["--resize", "; ".join(resizes)] if resizes else []
        stops = [f"worker 0 at step {at}" for at in self.stops]
        flags += ["--stop", "; ".join(stops)] if stops else []
        flags += ["--snapshot-steps", str(self.snapshot_steps)] if self.snapshot_steps else []
        return flags + (["--kill", "; ".join(kills)] if kills else [])


class Runner:
    """Runs scripts in folders of their own. `package` is where `rubato` is imported from; with a
    `binary`, elastic runs are those of `rubato train`, else the leader follows a plan alone."""

    def __init__(self, package: str, binary: Optional[str] = None) -> None:
        self.package = package
        self.binary = binary

    def alone(self, entry: Entry, setting: Setting) -> Outcome:
        setting = Setting(setting.threads, setting.is_double,
                          {"CORPUS_COUNT": "1", **setting.variables})
        return self.run(entry, setting, [sys.executable], [], None)

    def elastic(self, entry: Entry, setting: Setting, events: Events,
                seconds_alone: float) -> Outcome:
        events.seconds_max = ELASTIC_FACTOR * seconds_alone / len(entry.runs) + ELASTIC_SECONDS
        variables = {"RUBATO_SPLIT_ALWAYS": "1", **setting.variables}
        setting = Setting(setting.threads, setting.is_double, variables)
        if events.call_kills or self.binary is None:
            by_call = events.call_kills + (events.kills if self.binary is None else [])
            variables["RUBATO_SPLIT_KILL"] = ",".join(f"{a}:{phase}" for a, phase in by_call)
        if self.binary is None:
            variables["RUBATO_SPLIT_PLAN"] = ",".join(f"{a}:{w}" for a, w in events.plan)
            return self.run(entry, setting, [sys.executable, "-m", "rubato.split"],
                            [self.package], events)
        if events.group_kills:
            variables["CORPUS_KILL_GROUP"] = ",".join(map(str, events.group_kills))
            variables["RUBATO_SNAPSHOT_SHARE"] = "100"  # Scripts are too short to save it up.
        command = [self.binary, "train", *events.train_flags(), "--", sys.executable]
        outcome = self.run(entry, setting, command, [], events)
        take_out_table(outcome)
        return outcome

    def run(self, entry: Entry, setting: Setting, command: List[str], python_path: List[str],
            events: Optional[Events]) -> Outcome:
        outcome = Outcome()
        with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
            work = Path(folder) / "work"
            work.mkdir()
            for arguments in entry.runs:
                probe, report = Path(folder) / "probe.pt", Path(folder) / "report.json"
                environment = setting.environment(probe, python_path)
                environment["RUBATO_SPLIT_REPORT"] = str(report)
                self.run_once([*command, str(HERE / f"{entry.name}.py"), *arguments], work,
                              environment, events, outcome)
                take_in(outcome, probe, report, is_elastic=events is not None)
                if any(code != entry.exit_code for code in outcome.exit_codes):
                    break
            outcome.files = files_of(work)
            outcome.group_deaths = len(list(Path(folder).glob("probe.pt.killed*")))
        return outcome

    def run_once(self, command: List[str], work: Path, environment: Dict[str, str],
                 events: Optional[Events], outcome: Outcome) -> None:
        began = time.monotonic()
        seconds_max = ALONE_SECONDS_MAX if events is None else events.seconds_max
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(command, cwd=work, env=environment, stdout=out, stderr=err,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
            try:
                if events is not None and events.suspends:
                    suspend_once(process, environment["CORPUS_PROBE"])
                if events is not None and events.stops:
                    outcome.suspensions += go_on_after_stops(
                        process, environment["CORPUS_PROBE"], seconds_max)
                outcome.exit_codes.append(process.wait(seconds_max))
            except subprocess.TimeoutExpired:
                outcome.remarks.append(f"did not end within {seconds_max:.0f} s")
                outcome.exit_codes.append(TIMED_OUT)
            finally:
                has_ended = process.poll() is not None
                left = end_all(environment["CORPUS_PROBE"], ENDING_SECONDS if has_ended else 0.0)
                process.wait()
            if left and has_ended:
                outcome.remarks.append(f"processes were left behind: {left}")
            out.seek(0)
            err.seek(0)
            outcome.stdout += out.read().decode(errors="replace")
            outcome.stderr += err.read().decode(errors="replace")
        outcome.seconds += time.monotonic() - began


def suspend_once(process: "subprocess.Popen[bytes]", probe: str) -> None:
    """Stops all processes of a run for a moment while the script trains, if it still does."""
    try:
        process.wait(RUNNING_SECONDS)
        return
    except subprocess.TimeoutExpired:
        pass
    suspend_all(probe)


def suspend_all(probe: str) -> None:
    stopped = processes_of(probe)
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in stopped:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        if number == signal.SIGSTOP:
            time.sleep(SUSPENDED_SECONDS)


def go_on_after_stops(process: "subprocess.Popen[bytes]", probe: str, seconds_max: float) -> int:
    """Whenever the supervisor has stopped the script, all else is stopped too, and goes on after a
    while. Returns how often, when the run has ended."""
    count, deadline = 0, time.monotonic() + seconds_max
    while time.monotonic() < deadline:
        try:
            process.wait(LOOK_SECONDS)
            break
        except subprocess.TimeoutExpired:
            pass
        if any(state_of(pid) == "T" for pid in processes_of(probe)):
            suspend_all(probe)
            count += 1
    return count


def take_out_table(outcome: Outcome) -> None:
    """`rubato train` prints a table of what happened behind the output of each run."""
    rest, outcome.stdout, steps = outcome.stdout, "", 0
    while True:
        before, mark, after = rest.partition(TABLE_BEGIN)
        outcome.stdout += before
        if not mark:
            break
        found = TABLE_END.search(after)
        if found is None:
            outcome.remarks.append("the table of the run has no last line")
            break
        steps += int(found.group(1))
        outcome.rows += [Row(match["cause"].strip(), int(match["workers"]), int(match["step"]),
                             float(match["pause"]))
                         for match in TABLE_ROW.finditer(after[:found.start()])]
        outcome.leader_deaths += after[:found.start()].count(LEADER_NOTE)
        rest = after[found.end():]
    if steps != outcome.steps:
        outcome.remarks.append(
            f"the supervisor counted {steps} steps and the script's process {outcome.steps}")


def processes_of(probe: str) -> List[int]:
    """Of a run, found by their environment."""
    marker = f"CORPUS_PROBE={probe}".encode()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if marker not in file.read().split(b"\0"):
                    continue
        except OSError:
            continue
        if state_of(int(name)) not in ("", "Z"):
            found.append(int(name))
    return found


def state_of(pid: int) -> str:
    """R, S, T, Z and so on; nothing if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode()
    except OSError:
        return ""


def end_all(probe: str, patience: float) -> List[int]:
    """Processes of a run that are there after a while; they are killed."""
    deadline = time.monotonic() + patience
    left = processes_of(probe)
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left = processes_of(probe)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return left


def take_in(outcome: Outcome, probe: Path, report: Path, is_elastic: bool) -> None:
    """What the run has written for us."""
    outcome.probe = None
    if probe.exists():
        outcome.probe = torch.load(probe)
        probe.unlink()
        if not is_elastic:
            outcome.steps += outcome.probe["steps"]
            outcome.root_calls += outcome.probe["root_calls"]
    if report.exists():
        found: Dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        report.unlink()
        outcome.reports.append(found)
        outcome.steps += found["steps"]
    elif is_elastic:
        outcome.remarks.append("no report was written")
