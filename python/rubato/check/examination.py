"""Which runs of a script are made, within a time limit, and what follows from them."""

import statistics
import time
from typing import Any, Callable, Dict, List, Optional, Set

from rubato.check import double_precision
from rubato.check import findings as kinds
from rubato.check.comparison import DOUBLE, SINGLE, SPREAD_FACTOR, Comparison, compare
from rubato.check.findings import Findings, RootFinding
from rubato.check.roundings import OLDER_KERNELS
from rubato.check.runs import Outcome, Run, Target, end_interpreter

STEPS = 12  # Enough for rehearsal, four resizes, two killed replicas and a killed leader.
STEPS_SHORT = 6
STEPS_LEADER_KILL_MIN = 6  # A sleeping copy is made after the third step.
SPEED_STEPS = 60
PLAIN_SHARE = 0.3  # Of the time limit, for the first run.
SHARED_SHARE = 0.4
HARD_SHARE = 0.7  # Of the time left: a run that has not come to an end by then is killed.
SPEED_SECONDS_MIN = 4.0
START_SECONDS = 3.0  # Of a process, before the script begins.
CHAOTIC = 0.05  # A plain run that differs by more from another one is looked at twice.
ERROR_LINES = 12


class Examination:
    """Of one script."""

    def __init__(self, target: Target, seconds: float, is_short: bool = False,
                 progress: Callable[[str], None] = lambda text: None) -> None:
        self.target = target
        self.is_short = is_short
        self.progress = progress
        self.began = time.monotonic()
        self.seconds = seconds
        self.findings = Findings(str(target))
        self.steps = STEPS_SHORT if is_short else STEPS

    @property
    def left(self) -> float:
        return self.began + self.seconds - time.monotonic()

    def examine(self) -> Findings:
        found = self.findings
        try:
            self.judge()
        finally:
            end_interpreter()
            found.seconds = time.monotonic() - self.began
        return found

    def judge(self) -> None:
        self.progress("plain Python")
        plain = self.run({"loops": True}, self.seconds * PLAIN_SHARE)
        if not self.take_plain(plain):
            return
        reference = plain.record
        constant: Dict[str, Any] = {}
        if reference["is_random"]:
            self.progress("plain Python, with random numbers of forward held constant")
            self.findings.holds_constant = True
            constant = {"constant": True}
            again = self.run(constant, self.seconds * PLAIN_SHARE)
            if not self.take_plain(again):
                return
            reference = again.record
        self.judge_shared(reference, constant)
        if self.findings.verdict == kinds.AGREES and not self.is_short:
            self.measure_speed()

    def run(self, settings: Dict[str, Any], seconds: float,
            variables: Optional[Dict[str, str]] = None) -> Outcome:
        return self.start(settings, seconds, variables).wait()

    def start(self, settings: Dict[str, Any], seconds: float,
              variables: Optional[Dict[str, str]] = None) -> Run:
        seconds = max(START_SECONDS, min(seconds, self.left))
        return Run(self.target, {"steps": self.steps, "seconds": seconds, **settings}, variables,
                   HARD_SHARE * self.left, changes_kernels=variables is OLDER_KERNELS)

    # The plain script.

    def take_plain(self, plain: Outcome) -> bool:
        """Whether there is something to compare with."""
        found, record = self.findings, plain.record
        if plain.is_unprotected:
            found.reason = plain.refusal
            return False
        if plain.wrote_outside:
            found.reason = (f"the script writes outside its folder ({plain.refusal}), and this "
                            "system has no user namespaces to keep that from happening")
            return False
        if record is None or (record["end"] == "end" and record["code"] != 0):
            return self.take_failure(plain)
        if record["uses_trainer"]:
            found.reason = ("the program uses rubato.Trainer and runs in every worker: the trainer "
                            "checks it as it trains")
            return False
        if not record["steps"]:
            found.reason = "the script ended without a step of an optimizer"
            return False
        found.loops = record["loops"] if record["loops"]["steps"] or not found.loops else (
            found.loops)
        if record["end"] == "end":
            found.script_code = record["code"]
        if found.step_seconds is None:
            found.step_seconds = typical_step(record["times"])
        return True

    def take_failure(self, plain: Outcome) -> bool:
        found = self.findings
        lines = plain.output.rstrip().splitlines()[-ERROR_LINES:]
        if plain.timed_out:
            found.reason = f"the script did not come to its first step in {plain.seconds:.0f} s"
            return False
        found.verdict = kinds.FAILS
        found.error = "\n".join(lines)
        found.script_code = plain.record["code"] if plain.record else plain.code
        steps = len(plain.record["steps"]) if plain.record else 0
        found.reason = (f"the script ends with exit code {found.script_code} "
                        f"after {steps} steps" if found.script_code >= 0 else
                        f"the script is ended by signal {-found.script_code}")
        return False

    # The shared script.

    def judge_shared(self, reference: Dict[str, Any], constant: Dict[str, Any]) -> None:
        self.progress("shared, with resizes and kills; plain, with other roundings")
        steps = len(reference["steps"])
        seconds = self.seconds * SHARED_SHARE
        events = Events(reference["calls"])
        shared_run = self.start({"elastic": True, "leader_kill": events.leader_kill, **constant},
                                seconds, events.variables())
        other_runs = [self.start(constant, seconds, OLDER_KERNELS),
                      self.start({"noise": True, **constant}, seconds)]
        shared, kernels, noisy = [run.wait() for run in (shared_run, *other_runs)]
        self.take_shared(shared, events)
        if shared.record is None or not shared.record["steps"]:
            self.take_shared_failure(shared)
            return
        others = [run.record for run in (kernels, noisy) if run.record and run.record["steps"]]
        comparison = compare(reference, shared.record, others)
        self.findings.steps = comparison.steps
        if comparison.steps < steps:
            self.findings.not_tried.append(
                f"steps {comparison.steps + 1} to {steps}, for lack of time")
        is_suspicious = (bool(comparison.problems) or len(others) < 2
                         or is_chaotic(reference, others))
        if is_suspicious and not self.is_repeatable(reference, constant):
            self.findings.verdict = kinds.NOT_COMPARABLE
            self.findings.reason = ("two runs of the plain script differ though random numbers are "
                                    "seeded alike: there is nothing to compare with")
            return
        self.conclude(comparison, self.is_rounding(comparison, shared.record, events, constant))
        self.look_for_gaps(shared.record, comparison, bool(others))

    def look_for_gaps(self, shared: Dict[str, Any], comparison: Comparison,
                      knows_rounding: bool) -> None:
        """On a slow machine there may have been too little to go by. Then nothing is claimed."""
        found = self.findings
        is_told = found.shares or any(root.reasons for root in found.roots)
        if not comparison.is_bit_equal and not knows_rounding:
            found.verdict = kinds.NOT_RUN
            found.reason = "there was no time to measure the script's own rounding"
        elif found.verdict == kinds.AGREES and shared["end"] == "late" and (
                not is_told or comparison.steps < shared["split_from"]):
            found.verdict = kinds.NOT_RUN
            found.reason = f"no shared call was compared in {self.seconds:.0f} s"

    def is_repeatable(self, reference: Dict[str, Any], constant: Dict[str, Any]) -> bool:
        self.progress("plain Python once more")
        again = self.run(constant, max(self.left, START_SECONDS)).record
        if again is None or not again["steps"]:
            return True  # Then what was found stands.
        return compare(reference, again, []).is_bit_equal

    def is_rounding(self, comparison: Comparison, shared: Dict[str, Any], events: "Events",
                    constant: Dict[str, Any]) -> bool:
        """Whether what is off in the script's own precision is right in double precision."""
        may_be = (bool(comparison.deviations) and not comparison.differences
                  and comparison.worst_share <= double_precision.SHARE_MAX)
        if not may_be or self.left < START_SECONDS:
            return False
        self.progress("plain and shared, in double precision")
        settings = {"double": True, **constant}
        both = [self.start(settings, self.left),
                self.start({"elastic": True, "leader_kill": events.leader_kill, **settings},
                           self.left, events.variables())]
        plain, again = [run.wait().record for run in both]
        if plain is None or again is None or not plain["is_double"] or not again["is_double"]:
            return False
        in_double = compare(plain, again, [], DOUBLE)
        is_as_much = (in_double.steps >= comparison.steps
                      and shared_names(again) >= shared_names(shared))
        return is_as_much and not in_double.problems

    def conclude(self, comparison: Comparison, is_rounding: bool) -> None:
        found = self.findings
        found.is_settled_in_double = is_rounding
        found.worst, found.worst_place = comparison.worst, comparison.worst_place
        found.is_bit_equal = comparison.is_bit_equal
        if comparison.problems and not is_rounding:
            found.verdict = kinds.DIFFERS
            found.reason = "; ".join(comparison.problems)
        else:
            found.verdict = kinds.AGREES

    def take_shared(self, shared: Outcome, events: "Events") -> None:
        found, record = self.findings, shared.record
        if record is None:
            return
        report = record["report"]
        found.roots = merged([RootFinding(root["name"], root["split"], root["unsplit"],
                                          list(root["reasons"])) for root in report["roots"]])
        found.notices = [text for key, text in record["notices"].items()
                         if not key.startswith(("unsplit", "woken"))]
        found.resizes = [resize["to"] for resize in report["resizes"]]
        found.replicas_killed = report["replica_deaths"]
        found.leader_killed = record["woken"] > 0
        found.leader_bytes = record["peak_bytes"]
        found.replica_bytes = record["replica_bytes"]
        found.shared_bytes = record["shared_bytes"]
        if not events.leader_kill:
            found.not_tried.append("a killed leader: too few steps")
        elif not found.leader_killed and record["end"] == "late":
            found.not_tried.append("a killed leader: no time")
        elif not found.leader_killed:
            found.not_tried.append("a killed leader: no copy of it could be made")
        if found.shares and found.replicas_killed == 0:
            found.not_tried.append("a killed replica: too few shared calls")

    def take_shared_failure(self, shared: Outcome) -> None:
        found = self.findings
        if shared.timed_out or (shared.record and shared.record["end"] == "late"):
            found.reason = ("the shared run did not come to its first step in "
                            f"{shared.seconds:.0f} s")
            return
        found.verdict = kinds.DIFFERS
        found.reason = f"the shared run ended with exit code {shared.code}, the plain one did not"
        found.error = "\n".join(shared.output.rstrip().splitlines()[-ERROR_LINES:])

    # Speed.

    def measure_speed(self) -> None:
        found = self.findings
        if not found.shares:
            found.speed_up, found.speed_note = 1.0, "nothing is shared"
            return
        if self.left < SPEED_SECONDS_MIN + START_SECONDS:
            found.speed_note = "not measured, for lack of time"
            return
        self.progress("speed with two workers")
        timed = self.run({"elastic": True, "keeps": False, "until_chosen": True,
                          "steps": SPEED_STEPS}, self.left - START_SECONDS,
                         {"RUBATO_SPLIT_PLAN": "0:2"})
        if timed.record is None:
            found.speed_note = "not measured: the run did not end in time"
            return
        self.take_timings(timed.record["timings"])

    def take_timings(self, timings: List[Dict[str, Any]]) -> None:
        found = self.findings
        known = [timing for timing in timings
                 if len(timing["shared"]) >= 3 and len(timing["unshared"]) >= 3]
        if not timings:
            found.speed_up = 1.0
            found.speed_note = "its calls take less than 0.3 ms and are not worth sharing"
        elif not known:
            found.speed_note = "not measured: too few steps in the time"
        else:
            longest = max(known, key=lambda timing: statistics.median(timing["unshared"]))
            shared = statistics.median(longest["shared"])
            unshared = statistics.median(longest["unshared"])
            found.speed_up = max(1.0, unshared / shared)
            if unshared <= shared:
                found.speed_note = "sharing is slower than not sharing, so calls are left alone"


class Events:
    """What happens to a shared run: workers 1, 2, 1, 3, 2, two killed replicas, a killed leader.
    Numbers of workers change by calls of root modules, replicas die by shared calls."""

    def __init__(self, calls: List[int]) -> None:
        steps = len(calls)

        def call_at(share: float) -> int:
            """Calls before the step that is so far in the run."""
            step = int(share * steps)
            return calls[step - 1] if step > 0 else 0

        per_step = max(1, (calls[-1] - calls[0]) // max(1, steps - 1)) if steps else 1
        self.plan = [(0, 1), (call_at(0.17), 2), (call_at(0.34), 1), (call_at(0.42), 3),
                     (call_at(0.75), 2)]
        if steps < 4:
            self.plan = [(0, 2)]
        self.kills = [(per_step, "F"), (3 * per_step, "B")]
        self.leader_kill = int(0.84 * steps) if steps >= STEPS_LEADER_KILL_MIN else 0

    def variables(self) -> Dict[str, str]:
        return {"RUBATO_SPLIT_PLAN": ",".join(f"{at}:{workers}" for at, workers in self.plan),
                "RUBATO_SPLIT_KILL": ",".join(f"{at}:{phase}" for at, phase in self.kills),
                "RUBATO_SPLIT_ALWAYS": "1", "RUBATO_COPY_EVERY": "3"}


def typical_step(times: List[float]) -> Optional[float]:
    """The first is slower than all others."""
    gaps = [after - before for before, after in zip(times, times[1:])]
    return statistics.median(gaps) if gaps else None


def is_chaotic(reference: Dict[str, Any], others: List[Dict[str, Any]]) -> bool:
    """Whether other roundings make so much of a difference that they could hide one. What comes
    before the first gradient does not depend on noise that is added to gradients."""
    for other in others:
        plain = compare(reference, other, [])
        if plain.worst * SINGLE.moved > CHAOTIC * SPREAD_FACTOR / 12:
            return True
    noisy = others[-1]["losses"][:1]
    return noisy != reference["losses"][:1]


def shared_names(record: Dict[str, Any]) -> Set[str]:
    """Of the modules whose calls were shared."""
    return {root["name"] for root in record["report"]["roots"] if root["split"]}


def merged(roots: List[RootFinding]) -> List[RootFinding]:
    """Modules of one class are one line, unless some are shared and others not."""
    found: Dict[Any, RootFinding] = {}
    for root in roots:
        key = (root.name, root.split > 0, tuple(root.reasons))
        if key in found:
            found[key].split += root.split
            found[key].unsplit += root.unsplit
        else:
            found[key] = root
    return list(found.values())
