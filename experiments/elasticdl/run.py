"""Reproduces the two-job experiments of ElasticDL in simulation. See README.md.

Exit code: 0, 1 if a bar is missed, 2 if nothing could be run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bad_config import BadConfig
from child import ChildFailed
from expectation import Expectation, load_expected, mark
from record import Report, is_program, origin
from scenario import Ends, load_scenarios, run_scenario, scenario_table
from tables import Table

HERE = Path(__file__).resolve().parent


def arguments_of(words: list[str]) -> argparse.Namespace:
    """All optional: the defaults are the experiment."""
    parser = argparse.ArgumentParser(description="Reproduce ElasticDL's two-job experiments.")
    parser.add_argument("--binary", type=Path, default=Path("build/rubato"))
    parser.add_argument("--output", type=Path, default=Path("build/experiments"))
    return parser.parse_args(words)


def found_for(one: Expectation, ends: dict[str, Ends]) -> float | None:
    """The number an expectation is about."""
    if one.policy not in ends:
        return None
    values = {"first": ends[one.policy].first, "last": ends[one.policy].last}
    values["of gang"] = ends[one.policy].last / ends["gang"].last
    return values.get(one.metric)


def expected_table(
    expectations: list[Expectation], results: dict[str, dict[str, Ends]]
) -> tuple[Table, int]:
    """What was expected, what was found, and how many bars were missed."""
    header = ["scenario", "system", "metric", "source", "expected", "found", ""]
    table = Table("Expected", header, labels=4)
    missed = 0
    for one in expectations:
        found = found_for(one, results.get(one.run, {}))
        state = mark(one, found, one.run in results)
        missed += state == "MISSED"
        wanted = f"{one.relation} {one.value:g}"
        wanted += f" +- {one.tolerance:g}" if one.tolerance else ""
        shown = f"{found:.2f}" if found is not None else "-"
        table.rows.append([one.run, one.policy, one.metric, one.source, wanted, shown, state])
    return table, missed


def main(words: list[str]) -> int:
    """Paths are relative to the folder one is in; run.sh goes to the top of the repository."""
    arguments = arguments_of(words)
    if not is_program(arguments.binary):
        print(f"{arguments.binary}: no such program; build it first: make build", file=sys.stderr)
        return 2
    try:
        binary = arguments.binary.absolute()
        scenarios = load_scenarios(HERE / "scenarios.toml")
        folder = arguments.output / "elasticdl"
        results = {one.name: run_scenario(binary, one, folder) for one in scenarios}
        expected, missed = expected_table(load_expected(HERE / "expected.csv"), results)
    except (BadConfig, ChildFailed, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    stable = [scenario_table(one, results[one.name]) for one in scenarios]
    preface = ["command: experiments/elasticdl/run.sh", origin(binary)]
    preface.append("accounting none; speed in proportion to workers; deterministic")
    rows = [
        {"scenario": name, "system": system} | vars(ends)
        for name, found in results.items()
        for system, ends in found.items()
    ]
    page = Report("elasticdl", "ElasticDL's two jobs, simulated", preface, stable, [expected], rows)
    return page.conclude(arguments.output, HERE / "README.md", missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
