"""Reproduces the comparison of AFS (NSDI'21) with its baselines. See README.md.

Exit code: 0, 1 if a bar is missed or a simulation failed, 2 if nothing could be run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bad_config import BadConfig
from child import ChildFailed
from comparison import (
    SEEDS,
    Place,
    Results,
    Run,
    expected_table,
    load_reference,
    load_runs,
    run_all,
    run_table,
)
from expectation import load_expected
from models import load_models
from record import Report, is_program, markdown_of, origin, readme_is_current

HERE = Path(__file__).resolve().parent


def arguments_of(words: list[str]) -> argparse.Namespace:
    """All optional: the defaults are the experiment."""
    parser = argparse.ArgumentParser(description="Reproduce the comparison of AFS.")
    parser.add_argument("--binary", type=Path, default=Path("build/rubato"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data/elasticflow"))
    parser.add_argument("--output", type=Path, default=Path("build/experiments"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--run", action="append", help="only this one; may be repeated")
    return parser.parse_args(words)


def preface_of(binary: Path, results: Results) -> list[str]:
    """What a reader must know before the first number."""
    lines = ["command: experiments/afs/run.sh", origin(binary)]
    lines.append("accounting none: resizing is free; means over seeds; factors are against afs-l")
    lines += [f"SKIPPED {name}: {reason}" for name, reason in results.skipped.items()]
    return lines


def report(arguments: argparse.Namespace, runs: list[Run], results: Results) -> int:
    """Prints and writes everything; returns the exit code."""
    reference = load_reference(HERE / "reference.csv")
    names = {run.name for run in runs}
    expectations = [one for one in load_expected(HERE / "expected.csv") if one.run in names]
    stable = [run_table(run, results, reference) for run in runs if run.name in results.jobs]
    expected, missed = expected_table(expectations, results, reference)
    rows = [
        {"run": run, "system": policy, "trace_seed": seed} | row
        for (run, policy), found in results.rows.items()
        for seed, row in enumerate(found)
    ]
    preface = preface_of(arguments.binary, results)
    page = Report("afs", "AFS, reproduced", preface, stable, [expected], rows)
    page.show()
    page.write(arguments.output)
    for key, reason in results.failed.items():
        print(f"FAILED {' '.join(key)}: {reason}")
    is_whole = not results.skipped and not arguments.run
    if is_whole and not readme_is_current(HERE / "README.md", markdown_of(stable)):
        print(f"the tables in README.md are not these; they are in {arguments.output}/afs.md")
    print(f"bars missed: {missed}; simulations failed: {len(results.failed)}")
    return 1 if missed or results.failed else 0


def main(words: list[str]) -> int:
    """Paths are relative to the folder one is in; run.sh goes to the top of the repository."""
    arguments = arguments_of(words)
    if not is_program(arguments.binary):
        print(f"{arguments.binary}: no such program; build it first: make build", file=sys.stderr)
        return 2
    try:
        arguments.binary = arguments.binary.absolute()
        runs = load_runs(HERE / "runs.toml")
        runs = [run for run in runs if not arguments.run or run.name in arguments.run]
        models = load_models(HERE / "models.csv")
        place = Place(arguments.binary, arguments.data, arguments.output / "afs")
        results = run_all(place, runs, models, arguments.seeds)
        if not results.rows:
            for reason in [*results.skipped.values(), *results.failed.values()][:3]:
                print(reason, file=sys.stderr)
            print("nothing could be run", file=sys.stderr)
            return 2
        return report(arguments, runs, results)
    except (BadConfig, ChildFailed, OSError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
