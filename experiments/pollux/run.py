"""Replays the workloads of Pollux (OSDI'21) beside what its own simulator gives. See README.md.

Exit code: 0 (also without the data), 1 if a bar is missed, 2 if nothing could be run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import mean

from bad_config import BadConfig
from child import ChildFailed
from expectation import Expectation, load_expected, mark
from record import Report, is_program, origin
from tables import Table
from workloads import OTHERS, REFERENCE_COLUMNS, Replay, load_reference, replay

HERE = Path(__file__).resolve().parent
Results = dict[str, dict[str, Replay]]  # By policy, then workload.
Reference = dict[str, dict[str, float]]  # By workload, then policy.


def arguments_of(words: list[str]) -> argparse.Namespace:
    """All optional: the defaults are the experiment."""
    parser = argparse.ArgumentParser(description="Replay the workloads of Pollux.")
    parser.add_argument("--binary", type=Path, default=Path("build/rubato"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data/pollux"))
    parser.add_argument("--output", type=Path, default=Path("build/experiments"))
    return parser.parse_args(words)


def results_of(binary: Path, data: Path, reference: Reference) -> Results:
    """All policies on all workloads that have a reference."""
    return {
        policy: {name: replay(binary, data, name, policy) for name in reference}
        for policy in (*REFERENCE_COLUMNS, *OTHERS)
    }


def found_for(one: Expectation, results: Results, reference: Reference) -> float | None:
    """The number an expectation is about."""
    runs = results.get(one.policy, {})
    if one.metric == "hours" and one.run in runs:
        return runs[one.run].average / 3600
    names = list(reference) if one.run == "mean" else [one.run]
    if one.metric != "ratio" or not all(name in runs for name in names):
        return None
    return mean(runs[name].average for name in names) / mean(
        reference[name][one.policy] for name in names
    )


def workload_table(name: str, results: Results, reference: dict[str, float]) -> Table:
    """One workload under all policies."""
    header = ["policy", "avg JCT s", "reference s", "ratio", "p99 h", "makespan h", "changes/job"]
    table = Table(name, header)
    for policy, runs in results.items():
        run = runs[name]
        known = reference.get(policy)
        shown = [f"{known:.0f}", f"{run.average / known:.3f}"] if known else ["-", "-"]
        table.rows.append(
            [policy, f"{run.average:.0f}", *shown, f"{run.p99 / 3600:.1f}"]
            + [f"{run.makespan / 3600:.1f}", f"{run.changes:.1f}"]
        )
    return table


def mean_table(results: Results, reference: Reference) -> Table:
    """Means over the workloads."""
    table = Table("mean of the workloads", ["policy", "avg JCT s", "reference s", "ratio"])
    for policy, runs in results.items():
        ours = mean(run.average for run in runs.values())
        if policy in REFERENCE_COLUMNS:
            known = mean(row[policy] for row in reference.values())
            table.rows.append([policy, f"{ours:.0f}", f"{known:.0f}", f"{ours / known:.3f}"])
        else:
            table.rows.append([policy, f"{ours:.0f}", "-", "-"])
    return table


def expected_table(
    expectations: list[Expectation], results: Results, reference: Reference
) -> tuple[Table, int]:
    """What was expected, what was found, and how many bars were missed."""
    header = ["workload", "policy", "metric", "source", "expected", "found", ""]
    table = Table("Expected", header, labels=4)
    missed = 0
    for one in expectations:
        found = found_for(one, results, reference)
        state = mark(one, found, found is not None)
        missed += state == "MISSED"
        wanted = f"{one.relation} {one.value:g} +- {one.tolerance:g}"
        shown = f"{found:.3f}" if found is not None else "-"
        table.rows.append([one.run, one.policy, one.metric, one.source, wanted, shown, state])
    return table, missed


def main(words: list[str]) -> int:
    """Paths are relative to the folder one is in; run.sh goes to the top of the repository."""
    arguments = arguments_of(words)
    if not is_program(arguments.binary):
        print(f"{arguments.binary}: no such program; build it first: make build", file=sys.stderr)
        return 2
    if not (arguments.data / "reference_avg_jct.csv").is_file():
        print(f"{arguments.data}: no data; skipped")
        return 0
    try:
        binary = arguments.binary.absolute()
        reference = load_reference(arguments.data / "reference_avg_jct.csv")
        results = results_of(binary, arguments.data, reference)
        expectations = load_expected(HERE / "expected.csv")
        expected, missed = expected_table(expectations, results, reference)
    except (BadConfig, ChildFailed, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    stable = [mean_table(results, reference)]
    stable += [workload_table(name, results, reference[name]) for name in reference]
    preface = ["command: experiments/pollux/run.sh", origin(binary)]
    preface.append("16x4:T4, rounds on a grid of 60 s, a change of workers costs 30 s; deterministic")
    rows = [
        {"policy": policy, "workload": name} | vars(run)
        for policy, runs in results.items()
        for name, run in runs.items()
    ]
    page = Report("pollux", "Pollux's workloads, replayed", preface, stable, [expected], rows)
    return page.conclude(arguments.output, HERE / "README.md", missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
