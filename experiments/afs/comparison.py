"""Runs every policy on every seed's draw, and turns the results into factors and tables."""

from __future__ import annotations

import csv
import json
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import child
from bad_config import BadConfig
from expectation import Expectation, mark
from mapping import generated_requests, read_requests, write_trace
from models import Model, write_speeds
from tables import Table

# How each system of the table is called here. Tiresias: two queues, 50 GPU-hours, no promotion.
# Optimus: anew at each event, and not also at every slot.
POLICIES = {
    "tiresias": "tiresias:thresholds=180000,falls=prompt",
    "srtf": "srtf",
    "optimus": "optimus:interval=1000000000",
    "max-min": "max-min",
    "afs-l": "afs-l",
    "afs-p": "afs-p",
    "afs-l, every count": "afs-l:packing=off",
    "afs-p, every count": "afs-p:packing=off",
    "afs-p, fewest turns first": "afs-p:turns=fewest",
}
BASE = "afs-l"
SEEDS = 5
SLOT_SECONDS = 1.0  # Rounds follow events.


@dataclass(frozen=True)
class Run:
    """One trace on one cluster; without a trace the jobs are generated."""

    name: str
    cluster: str
    trace: str = ""
    rows: int | None = None


@dataclass(frozen=True)
class Figures:
    """Minutes, minutes, hours; means over seeds."""

    jct: float
    p99: float
    makespan: float


@dataclass
class Results:
    """By run and policy; one entry for each seed."""

    rows: dict[tuple[str, str], list[dict[str, float]]] = field(default_factory=dict)
    jobs: dict[str, int] = field(default_factory=dict)
    seeds: int = SEEDS
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)

    def jct(self, run: str, policy: str) -> list[float]:
        """Minutes, one for each seed; empty if it was not run."""
        return [row["jct_avg_seconds"] / 60 for row in self.rows.get((run, policy), [])]

    def figures(self, run: str, policy: str) -> Figures | None:
        """Means over seeds."""
        rows = self.rows.get((run, policy))
        if not rows:
            return None
        return Figures(
            fmean(row["jct_avg_seconds"] for row in rows) / 60,
            fmean(row["jct_p99_seconds"] for row in rows) / 60,
            fmean(row["makespan_seconds"] for row in rows) / 3600,
        )

    def factor(self, run: str, policy: str) -> float | None:
        """Mean completion time over that of AFS-L."""
        ours, base = self.figures(run, policy), self.figures(run, BASE)
        return ours.jct / base.jct if ours and base else None


References = dict[tuple[str, str], Figures]


def load_runs(path: Path) -> list[Run]:
    """Reads runs.toml; raises BadConfig."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))["run"]
        return [Run(**table) for table in tables]
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise BadConfig(f"{path.name}: {error!r}") from error


def load_reference(path: Path) -> References:
    """Reads reference.csv; raises BadConfig."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {
                (row["run"], row["policy"]): Figures(
                    float(row["jct_min"]), float(row["p99_min"]), float(row["makespan_h"])
                )
                for row in csv.DictReader(file)
            }
    except (OSError, UnicodeDecodeError, csv.Error, KeyError, TypeError, ValueError) as error:
        raise BadConfig(f"{path.name}: {error!r}") from error


def known_policies(binary: Path) -> set[str]:
    """Names of the policies this program has; raises ChildFailed."""
    output = child.run([str(binary), "policy", "list", "--json"]).output
    try:
        return {policy["name"] for policy in json.loads(output)["policies"]}
    except (ValueError, KeyError, TypeError) as error:
        raise child.ChildFailed(f"the output is not that of rubato policy list: {error!r}") from error


@dataclass(frozen=True)
class Place:
    """Where things are; `folder` is for what is made on the way."""

    binary: Path
    data: Path
    folder: Path


def _draw(place: Place, run: Run, seed: int, models: list[Model]) -> tuple[Path, int]:
    """Writes the trace of one seed; returns it and the number of its jobs."""
    path = place.folder / f"{run.name}-{seed}.csv"
    requests = generated_requests(seed)
    if run.trace:
        requests = read_requests(place.data / run.trace, run.rows)
    return path, write_trace(requests, models, seed, path)


def run_all(place: Place, runs: list[Run], models: list[Model], seeds: int) -> Results:
    """All runs, policies and seeds; what cannot be run is named with its reason."""
    results = Results(seeds=seeds)
    known = known_policies(place.binary)
    place.folder.mkdir(parents=True, exist_ok=True)
    speeds = place.folder / "speeds.csv"
    write_speeds(models, speeds)
    absent = [name for name, policy in POLICIES.items() if policy.partition(":")[0] not in known]
    for name in absent:
        results.skipped[name] = "this program has no such policy"
    for run in runs:
        if run.trace and not (place.data / run.trace).is_file():
            results.skipped[run.name] = f"no {run.trace} in the data"
            continue
        print(f"{run.name}: {seeds} seeds", file=sys.stderr, flush=True)
        for seed in range(seeds):
            trace, results.jobs[run.name] = _draw(place, run, seed, models)
            for name, policy in POLICIES.items():
                if name in absent:
                    continue
                simulation = child.Simulation(
                    trace, run.cluster, SLOT_SECONDS, policy, "none", speeds
                )
                try:
                    row = child.simulate(place.binary, simulation)
                    results.rows.setdefault((run.name, name), []).append(row)
                except child.ChildFailed as error:
                    results.failed[run.name, name] = str(error)
    return results


def keeps_order(run: str, results: Results, reference: References) -> bool:
    """Whether no policy is ahead of another that the reference has clearly ahead of it."""
    names = [name for name in POLICIES if results.jct(run, name) and (run, name) in reference]
    for first in names:
        for second in names:
            ours = fmean(results.jct(run, first)) > fmean(results.jct(run, second))
            if reference[run, first].jct < reference[run, second].jct and ours:
                return False
    return len(names) > 1


def run_table(run: Run, results: Results, reference: References) -> Table:
    """One run: ours beside the reference."""
    header = ["policy", "mean JCT, min", "reference", "factor", "over seeds", "reference"]
    header += ["p99, min", "reference", "makespan, h", "reference"]
    jobs = results.jobs.get(run.name, 0)
    table = Table(f"{run.name}: {jobs} jobs on {run.cluster}, {results.seeds} seeds", header)
    base = reference.get((run.name, BASE))
    for name in POLICIES:
        ours, factor = results.figures(run.name, name), results.factor(run.name, name)
        if ours is None or factor is None:
            continue
        other = reference.get((run.name, name))
        pairs = zip(results.jct(run.name, name), results.jct(run.name, BASE))
        factors = [jct / afs for jct, afs in pairs]
        cells = [name, f"{ours.jct:.1f}", f"{other.jct:.0f}" if other else "-", f"{factor:.2f}"]
        cells += [f"{min(factors):.2f} to {max(factors):.2f}"]
        cells += [f"{other.jct / base.jct:.2f}" if other and base else "-"]
        cells += [f"{ours.p99:.0f}", f"{other.p99:.0f}" if other else "-"]
        cells += [f"{ours.makespan:.0f}", f"{other.makespan:.0f}" if other else "-"]
        table.rows.append(cells)
    return table


def expected_table(
    expectations: list[Expectation], results: Results, reference: References
) -> tuple[Table, int]:
    """What was expected, what was found, and how many bars were missed."""
    table = Table("Expected", ["run", "policy", "metric", "source", "expected", "found", ""], labels=4)
    missed = 0
    for one in expectations:
        was_run = one.run in results.jobs and one.policy not in results.skipped
        found = results.factor(one.run, one.policy) if one.metric == "factor" else None
        if one.metric == "order" and was_run:
            found = float(keeps_order(one.run, results, reference))
        state = mark(one, found, was_run)
        missed += state == "MISSED"
        sign = {"near": f"{one.value:g} +- {one.tolerance:g}", "at least": f">= {one.value:g}"}
        wanted = sign.get(one.relation, f"<= {one.value:g}")
        shown = f"{found:.3f}" if found is not None else "-"
        table.rows.append([one.run, one.policy, one.metric, one.source, wanted, shown, state])
    return table, missed
