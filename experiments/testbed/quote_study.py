"""How well can a finish be quoted at all? The testbed's jobs in the simulator, without a live platform.

The quote of a job is its finish in a simulation that ends with its own arrival: what a fork of the engine
would say. See README.md, "What quotes can know". About two minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path

from child import ChildFailed, run
from comparison import Outcome, numbers_of, percentile, run_simulated
from platform_run import Settings
from tables import Table, as_text
from workload import TestbedJob, read_elasticflow

PARTS = (0.5, 0.75, 0.9)
COMPRESSION = 240.0
PAST_MIN = 5  # Jobs of a kind that must have ended before their errors say something.
RECENT = 20  # Arrivals that the rate is taken from.
OTHER_TRACES = (("195job", "16x8"), ("t4_195job", "16x4"), ("cluster10", "32x8"), ("200jobs_900lam_0.5", "8x8"))


class Study:
    """The jobs, and simulations of the first few of them."""

    def __init__(self, binary: Path, jobs: list[TestbedJob], folder: Path) -> None:
        self.binary = binary
        self.jobs = jobs
        self.folder = folder
        self.settings = Settings()
        self.planned = {j.name: j.arrival + self.settings.planned(j.allowed) for j in jobs}

    def finishes(self, count: int, planned: dict[str, float]) -> dict[str, float | None]:
        """When each of the first jobs ends, with plans that end by these moments; None: refused."""
        exact = replace(self.settings, margin=0.0, margin_min=0.0, firm_quotes=0.0)
        asked = [Outcome(j.name, j.arrival, planned[j.name]) for j in self.jobs[:count]]
        found = run_simulated(self.binary, self.folder, asked, self.jobs[:count], exact)
        return {one.name: one.finished for one in found}

    def outcomes(self, finishes: dict[str, float | None], quotes: dict[str, float]) -> list[Outcome]:
        """All jobs, with what was quoted."""
        return [
            Outcome(j.name, j.arrival, j.arrival + j.allowed, finishes[j.name],
                    finishes[j.name] is not None, quotes.get(j.name))
            for j in self.jobs
        ]  # fmt: skip

    def forked(self) -> list[Outcome]:
        """Quotes as a fork of the engine gives them."""
        quotes = {}
        for count, job in enumerate(self.jobs, start=1):
            finish = self.finishes(count, self.planned)[job.name]
            if finish is not None:
                quotes[job.name] = finish
        return self.outcomes(self.finishes(len(self.jobs), self.planned), quotes)


def shares(values: list[float]) -> list[str]:
    """Some percentiles, in percent."""
    return [f"{100 * percentile(values, part):.1f}" for part in PARTS]


def errors_of(outcomes: list[Outcome]) -> list[float]:
    """Absolute errors over quoted durations."""
    return [abs(one.quote_error) for one in outcomes if one.quote_error is not None]


def came_between(one: Outcome, all_jobs: list[Outcome]) -> int:
    """Promised jobs that came after it and before its quoted finish."""
    return sum(o.promised and one.submitted < o.submitted < (one.quoted or 0) for o in all_jobs)


def arrivals_table(outcomes: list[Outcome]) -> Table:
    """Errors by what came later."""
    header = ["admitted jobs that came before the quoted finish", "jobs", "p50", "p75", "p90"]
    table = Table("Quotes of a forked engine: errors, percent of the quoted duration", header)
    for label, low, high in (("none", 0, 0), ("1 or 2", 1, 2), ("3 to 9", 3, 9), ("10 or more", 10, 10**9), ("all", 0, 10**9)):  # fmt: skip
        chosen = [one for one in outcomes if low <= came_between(one, outcomes) <= high]
        errors = errors_of(chosen)
        table.rows.append([label, str(len(errors)), *shares(errors)])
    return table


def corrected(outcomes: list[Outcome], kind: Callable[[Outcome], Hashable], hindsight: bool) -> list[float]:
    """Errors after each quote was stretched by the median error of jobs of its kind: of those that had
    ended when it came, or with hindsight of all."""
    known = [one for one in outcomes if one.quote_error is not None]
    found = []
    for one in known:
        past = [o.quote_error for o in known if kind(o) == kind(one) and (hindsight or (o.finished or 0) < one.submitted)]  # fmt: skip
        bias = percentile(past, 0.5) if len(past) >= PAST_MIN else 0.0  # type: ignore[arg-type]
        quoted = (one.quoted - one.submitted) * (1 + bias)  # type: ignore[operator]
        found.append(abs((one.finished - one.submitted) / quoted - 1))  # type: ignore[operator]
    return found


def expected_arrivals(one: Outcome, outcomes: list[Outcome]) -> int:
    """In powers of three, from the rate of late and the quoted duration."""
    past = [o.submitted for o in outcomes if o.submitted <= one.submitted][-RECENT:]
    rate = (len(past) - 1) / max(past[-1] - past[0], 1e-9)
    count, power = rate * ((one.quoted or one.submitted) - one.submitted), 0
    while count >= 1:
        count, power = count / 3, power + 1
    return power


def corrections_table(outcomes: list[Outcome]) -> Table:
    """What knowing past errors would do."""
    table = Table("The same, stretched by past errors", ["by", "jobs", "p50", "p75", "p90"])

    def kind(one: Outcome) -> Hashable:
        return expected_arrivals(one, outcomes)

    for label, hindsight in (("expected arrivals, learnt on the way", False), ("expected arrivals, with hindsight", True)):  # fmt: skip
        errors = corrected(outcomes, kind, hindsight)
        table.rows.append([label, str(len(errors)), *shares(errors)])
    return table


def firm_row(binary: Path, trace: Path, words: list[str], tolerance: float) -> list[str]:
    """One run of the simulator with quotes that are kept."""
    command = [str(binary), "sim", "--trace", str(trace), *words, "--policy", "elasticflow", "--overhead", "physical"]
    row = json.loads(run([*command, "--firm-quotes", f"{tolerance:g}", "--json"]).output)["results"][0]
    errors = [f"{100 * row[key]:.1f}" for key in ("quote_error_p50", "quote_error_p90")] if tolerance else ["-", "-"]
    cells = [f"{row['deadline_met_ratio']:.3f}", f"{row['jct_avg_seconds']:.1f}", str(row["promises_broken"])]
    return [trace.stem, f"{100 * tolerance:g} %" if tolerance else "forecasts", *cells, *errors]


def firm_table(study: Study, data: Path) -> Table:
    """What keeping quotes costs: the testbed's jobs at several tolerances, and other traces as they are."""
    header = ["jobs", "quotes are kept to", "deadlines met", "mean JCT, s", "promises broken", "p50", "p90"]
    table = Table("Quotes that are kept (rubato sim --firm-quotes)", header, labels=2)
    study.finishes(len(study.jobs), study.planned)  # Leaves its trace behind.
    settings = study.settings
    words = ["--cluster", settings.cluster, "--slot", f"{settings.slot:g}", "--restart", f"{settings.pause:g}"]
    for tolerance in (0.0, 0.02, 0.05, 0.1):
        row = firm_row(study.binary, study.folder / "submissions.jsonl", words, tolerance)
        table.rows.append(["testbed", *row[1:]])
    for name, cluster in OTHER_TRACES:
        for tolerance in (0.0, 0.05):
            trace = data / f"{name}.csv"
            words = ["--cluster", cluster, "--speeds", str(data / "speeds.csv")]
            if trace.is_file():
                table.rows.append(firm_row(study.binary, trace, words, tolerance))
    return table


def main(words: list[str]) -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description="What quotes can know.")
    parser.add_argument("--binary", type=Path, default=Path("build/rubato"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data/elasticflow"))
    arguments = parser.parse_args(words)
    trace, speeds = arguments.data / "195job.csv", arguments.data / "speeds.csv"
    if not (trace.is_file() and speeds.is_file()):
        print(f"{arguments.data}: no 195job.csv and speeds.csv there; nothing to study")
        return 0
    try:
        with tempfile.TemporaryDirectory() as folder:
            jobs = read_elasticflow(trace, speeds, COMPRESSION)
            study = Study(arguments.binary.absolute(), jobs, Path(folder))
            forked = study.forked()
            numbers = numbers_of(forked)
            print(f"deadlines met {numbers.deadline_ratio:.3f}, mean JCT {numbers.jct_mean:.1f} s")
            for table in (arrivals_table(forked), corrections_table(forked), firm_table(study, arguments.data)):
                print("\n" + as_text(table), flush=True)
    except (ChildFailed, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
