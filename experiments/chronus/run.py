"""Chronus and its baselines on redrawn workloads, beside reference runs of its published code.

Exit code: 0, 1 if a bar is missed, 2 if nothing could be run. See README.md.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from bad_config import BadConfig
from child import ChildFailed, Simulation, simulate
from expectation import Expectation, load_expected, mark
from record import Report, is_program, origin
from tables import Table
from workload import MIXES, WORTH, write_inputs

HERE = Path(__file__).resolve().parent
SEEDS = (1, 2, 3)
POLICIES = ("chronus", "fifo", "srtf", "edf", "tiresias:thresholds=36000")


@dataclass(frozen=True)
class Setting:
    """One table."""

    mix: str
    gpus: int
    noise: float = 0.0

    @property
    def name(self) -> str:
        """As in expected.csv."""
        return f"{self.mix}@{self.gpus}" + (f" noise {self.noise:g}" if self.noise else "")


SETTINGS = (Setting("mix1", 96), Setting("mix1", 64), Setting("mix1", 64, 0.2), Setting("mix2", 96))

# Missed deadlines in percent (mix2: first ones), slowdown and minutes of jobs without deadlines; as
# measured with the published code and traces, and with baselines written for that; see README.md.
REFERENCE: dict[str, dict[str, tuple[float, float, float | None]]] = {
    "mix1@96": {"chronus": (0.85, 1.09, 242), "fifo": (15.7, 2.39, None),
                "srtf": (0.6, 1.05, None), "edf": (0.1, 1.71, None),
                "tiresias:thresholds=36000": (1.5, 1.06, None)},
    "mix1@64": {"chronus": (8.1, 1.37, 313), "fifo": (65.2, 7.15, None),
                "srtf": (3.4, 1.07, None), "edf": (0.7, 3.28, None),
                "tiresias:thresholds=36000": (9.7, 1.36, None)},
    "mix2@96": {"chronus": (0.09, 1.08, 189), "fifo": (14.0, 1.68, None),
                "srtf": (0.4, 1.04, None), "edf": (0.1, 1.71, None),
                "tiresias:thresholds=36000": (0.4, 1.05, None)},
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """Means over the seeds."""

    miss: float  # Percent of jobs with a deadline; the first one, if there are several.
    value_lost: float  # Percent of what those jobs offered.
    slowdown: float  # Jobs without deadline: mean time to completion over mean run time.
    minutes: float  # Jobs without deadline.
    promises: float
    broken: float


def outcome_of(row: dict[str, Any], jobs: list[dict[str, Any]]) -> Outcome:
    """What one simulation says about one workload."""
    free = [job["duration"] for job in jobs if job["class"] == "best_effort"]
    offered = WORTH * row["deadline_jobs"]
    return Outcome(
        miss=100 * (1 - row["deadline_met"] / row["deadline_jobs"]),
        value_lost=100 * (row["value_offered"] - row["total_value"]) / offered,
        slowdown=row["best_effort_jct_avg_seconds"] / mean(free),
        minutes=row["best_effort_jct_avg_seconds"] / 60,
        promises=row["promises"],
        broken=row["promises_broken"],
    )


def average(outcomes: list[Outcome]) -> Outcome:
    """Number by number."""
    return Outcome(*(mean(numbers) for numbers in zip(*(vars(one).values() for one in outcomes))))


Inputs = dict[tuple[str, int], tuple[Path, Path, list[dict[str, Any]]]]  # By mix and seed.


def measure(binary: Path, inputs: Inputs, setting: Setting, policy: str) -> Outcome:
    """All seeds of one cell."""
    outcomes = []
    for seed in SEEDS:
        trace, speeds, jobs = inputs[setting.mix, seed]
        simulation = Simulation(
            trace, f"{setting.gpus // 8}x8:any", 60, policy, "physical", speeds,
            noise=setting.noise, seed=seed, restart=30,
        )  # fmt: skip
        outcomes.append(outcome_of(simulate(binary, simulation), jobs))
    return average(outcomes)


Results = dict[str, dict[str, Outcome]]  # By setting, then policy.


def setting_table(setting: Setting, found: dict[str, Outcome]) -> Table:
    """One workload on one cluster under all policies."""
    header = ["policy", "missed %", "reference", "value lost %", "slowdown", "reference"]
    header += ["completion min", "reference", "promises", "broken"]
    table = Table(setting.name, header)
    for policy, one in found.items():
        miss, slowdown, minutes = REFERENCE.get(setting.name, {}).get(policy, (None, None, None))
        shown = [f"{value:g}" if value is not None else "-" for value in (miss, slowdown, minutes)]
        table.rows.append(
            [policy, f"{one.miss:.2f}", shown[0], f"{one.value_lost:.2f}", f"{one.slowdown:.2f}"]
            + [shown[1], f"{one.minutes:.0f}", shown[2], f"{one.promises:.0f}", f"{one.broken:g}"]
        )
    return table


def found_for(one: Expectation, results: Results) -> float | None:
    """The number an expectation is about: a column, or fifo's over chronus's."""
    runs = results.get(one.run, {})
    if one.policy not in runs:
        return None
    if one.metric == "fifo ratio of missed":
        return runs["fifo"].miss / max(runs[one.policy].miss, 0.01)
    if one.metric == "fifo ratio of slowdown":
        return runs["fifo"].slowdown / runs[one.policy].slowdown
    found = vars(runs[one.policy]).get(one.metric)
    return None if found is None else float(found)


def expected_table(expectations: list[Expectation], results: Results) -> tuple[Table, int]:
    """What was expected, what was found, and how many bars were missed."""
    header = ["workload", "policy", "metric", "source", "expected", "found", ""]
    table = Table("Expected", header, labels=4)
    missed = 0
    for one in expectations:
        found = found_for(one, results)
        state = mark(one, found, one.run in results)
        missed += state == "MISSED"
        wanted = f"{one.relation} {one.value:g} +- {one.tolerance:g}"
        shown = f"{found:.3f}" if found is not None else "-"
        table.rows.append([one.run, one.policy, one.metric, one.source, wanted, shown, state])
    return table, missed


def arguments_of(words: list[str]) -> argparse.Namespace:
    """All optional: the defaults are the experiment."""
    parser = argparse.ArgumentParser(description="Chronus beside its baselines.")
    parser.add_argument("--binary", type=Path, default=Path("build/rubato"))
    parser.add_argument("--output", type=Path, default=Path("build/experiments"))
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Paths are relative to the folder one is in; run.sh goes to the top of the repository."""
    arguments = arguments_of(words)
    if not is_program(arguments.binary):
        print(f"{arguments.binary}: no such program; build it first: make build", file=sys.stderr)
        return 2
    try:
        binary = arguments.binary.absolute()
        folder = arguments.output / "chronus"
        inputs = {
            (name, seed): write_inputs(folder, mix, seed)
            for name, mix in MIXES.items()
            for seed in SEEDS
        }
        results = {
            setting.name: {p: measure(binary, inputs, setting, p) for p in POLICIES}
            for setting in SETTINGS
        }
        expected, missed = expected_table(load_expected(HERE / "expected.csv"), results)
    except (BadConfig, ChildFailed, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    stable = [setting_table(setting, results[setting.name]) for setting in SETTINGS]
    preface = ["command: experiments/chronus/run.sh", origin(binary)]
    preface.append(f"nodes of 8 GPUs, a start costs 30 s; mean of seeds {SEEDS}; deterministic")
    rows = [
        {"setting": name, "policy": policy} | vars(one)
        for name, found in results.items()
        for policy, one in found.items()
    ]
    page = Report("chronus", "Chronus beside its baselines", preface, stable, [expected], rows)
    return page.conclude(arguments.output, HERE / "README.md", missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
