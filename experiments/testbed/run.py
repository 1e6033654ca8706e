"""The 195-job ElasticFlow trace through the whole live platform, beside its simulation.

Exit code: 0, 1 if a bar is missed, 2 if nothing could be run. See README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path

from analysis import causes_table, errors_table, pairs_table
from bad_config import BadConfig
from child import ChildFailed, run
from comparison import Numbers, Outcome, numbers_of, percentile, run_live, run_simulated
from expectation import Expectation, load_expected, mark
from platform_run import Settings, running
from record import Report, is_program, origin
from tables import Table
from workload import TestbedJob, read_elasticflow, read_generated

HERE = Path(__file__).resolve().parent
COMPRESSION = 240.0
QUICK_JOBS = 40
QUICK_COMPRESSION = 480.0
QUICK_SECONDS = 30.0  # Jobs that take longer on any number of GPUs are left out.
GENERATED_SEED = 7


def load_jobs(arguments: argparse.Namespace) -> tuple[list[TestbedJob], str]:
    """The jobs, and in words where they are from."""
    compression = QUICK_COMPRESSION if arguments.quick else COMPRESSION
    trace, speeds = arguments.data / "195job.csv", arguments.data / "speeds.csv"
    if trace.is_file() and speeds.is_file():
        jobs, source = read_elasticflow(trace, speeds, compression), "195job.csv of ElasticFlow"
    else:
        print(f"{arguments.data}: no 195job.csv and speeds.csv there, skipped; the jobs are made up")
        words = [str(arguments.binary), "trace", "generate", "--jobs", "195", "--seed"]
        words += [str(GENERATED_SEED), "--profile", "elasticflow", "--load", "0.5"]
        jobs = read_generated(run(words).output, compression)
        source = f"rubato trace generate --seed {GENERATED_SEED}"
    if arguments.quick:
        jobs = [job for job in jobs if job.steps / max(job.speeds.values()) < QUICK_SECONDS][:QUICK_JOBS]
    return jobs, f"{len(jobs)} jobs of {source}, {compression:g} times as fast"


def expected_value(metric: str, live: Numbers, simulated: Numbers, errors: list[float]) -> float | None:
    """The number an expectation is about."""
    found = {
        "deadline points apart": 100 * abs(live.deadline_ratio - simulated.deadline_ratio),
        "mean JCT percent apart": 100 * abs(live.jct_mean / simulated.jct_mean - 1),
        "promises broken": float(live.broken),
        "quote error p90 percent": 100 * percentile([abs(error) for error in errors], 0.9),
        "jobs that failed": float(live.admitted - live.finished),
    }
    return found.get(metric)


def expected_table(
    expectations: list[Expectation], name: str, live: list[Outcome], simulated: list[Outcome]
) -> tuple[Table, int]:
    """What was expected, what was found, and how many bars were missed."""
    table = Table("Expected", ["metric", "source", "expected", "found", ""], labels=2)
    errors = [one.quote_error for one in live if one.quote_error is not None]
    missed = 0
    for one in expectations:
        if one.run != name:
            continue
        found = expected_value(one.metric, numbers_of(live), numbers_of(simulated), errors)
        state = mark(one, found, True)
        missed += state == "MISSED"
        shown = f"{found:.2f}" if found is not None else "-"
        table.rows.append([one.metric, one.source, f"{one.relation} {one.value:g}", shown, state])
    return table, missed


def result_table(live: Numbers, simulated: Numbers) -> Table:
    """Live against simulated."""
    table = Table("Live against simulated", ["", "live", "simulated"])
    for label, key, form in (
        ("jobs", "jobs", "{:d}"), ("admitted", "admitted", "{:d}"), ("finished", "finished", "{:d}"),
        ("deadlines met of all jobs", "deadline_ratio", "{:.4f}"),
        ("mean time to completion, s", "jct_mean", "{:.2f}"),
        ("promises broken", "broken", "{:d}"), ("resizes", "resizes", "{:d}"),
    ):  # fmt: skip
        table.rows.append([label, *(form.format(getattr(one, key)) for one in (live, simulated))])
    return table


def arguments_of(words: list[str]) -> argparse.Namespace:
    """All optional: the defaults are the experiment."""
    parser = argparse.ArgumentParser(description="The live platform beside its simulation.")
    parser.add_argument("--binary", type=Path, default=Path("build/rubato"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data/elasticflow"))
    parser.add_argument("--output", type=Path, default=Path("build/experiments"))
    parser.add_argument("--forecasts", action="store_true", help="quotes that nobody keeps")
    parser.add_argument("--quick", action="store_true", help="40 jobs, twice as fast: two minutes")
    return parser.parse_args(words)


def measure(arguments: argparse.Namespace) -> tuple[Report, int]:
    """Runs both worlds."""
    binary = arguments.binary.absolute()
    settings = Settings(firm_quotes=0.0) if arguments.forecasts else Settings()
    jobs, source = load_jobs(arguments)
    name = ("quick" if arguments.quick else "full") + ("-forecasts" if arguments.forecasts else "")
    folder = arguments.output / f"testbed-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    load = os.getloadavg()[0]
    seconds_max = 2 * (max(job.arrival + job.allowed for job in jobs) + 60)
    with running(binary, folder.absolute(), settings.words()) as platform:
        platform.await_nodes(settings.nodes)
        live = run_live(platform, jobs, settings, seconds_max, lambda text: print(text, flush=True))
        (folder / "events.json").write_text(json.dumps(platform.events(), indent=1), encoding="utf-8")
    simulated = run_simulated(binary, folder, live, jobs, settings)
    expected, missed = expected_table(load_expected(HERE / "expected.csv"), name, live, simulated)
    preface = ["command: experiments/testbed/run.sh" + (" --quick" if arguments.quick else "")]
    preface += [origin(binary), source, f"EMULATED GPUs: {settings}"]
    preface.append(f"load of the machine before: {load:.1f}, after: {os.getloadavg()[0]:.1f}")
    tables = [result_table(numbers_of(live), numbers_of(simulated))]
    others = [errors_table(live), causes_table(live), pairs_table(live, simulated), expected]
    rows = [{"world": world} | vars(one) for world, found in (("live", live), ("simulated", simulated))
            for one in found]  # fmt: skip
    return Report(f"testbed-{name}", "Live against simulated", preface, tables, others, rows), missed


def main(words: list[str]) -> int:
    """Paths are relative to the folder one is in; run.sh goes to the top of the repository."""
    arguments = arguments_of(words)
    if not is_program(arguments.binary):
        print(f"{arguments.binary}: no such program; build it first: make build", file=sys.stderr)
        return 2
    try:
        page, missed = measure(arguments)
    except (BadConfig, ChildFailed, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    page.show()
    page.write(arguments.output)
    print(f"bars missed: {missed}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
