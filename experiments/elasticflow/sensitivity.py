"""How much a number moves when nothing of substance changes.

Each job arrives zero, one or two seconds later, its deadline with it. A difference smaller than the
spread of that says nothing about a policy.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

import child
from campaign import Place, trace_of
from settings import Figure
from tables import Table

POLICIES = ("elasticflow", "elasticflow-artifact", "edf-ac")
RUNS = ("t4_195job", "195job-240", "1000job@64", "1000job@64-60", "best-effort-10%")
SEEDS = range(1, 10)
ARRIVAL_COLUMNS = ("submit_time", "submission_time")
DEADLINE_COLUMNS = ("ddl", "deadline")
DELAYS = (0, 1, 2)


def jitter(source: Path, target: Path, seed: int) -> None:
    """Writes the trace with every job delayed a little."""
    generator = random.Random(seed)
    with source.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        columns = list(reader.fieldnames or ())
        rows = list(reader)
    moved = [name for name in columns if name in ARRIVAL_COLUMNS + DEADLINE_COLUMNS]
    for row in rows:
        delay = generator.choice(DELAYS)
        for name in moved:
            row[name] = f"{float(row[name]) + delay:.0f}"
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def sensitivity_table(place: Place, figures: list[Figure]) -> Table:
    """Deadlines met as the trace is, and least, median and most of the seeds."""
    count = len(SEEDS)
    title = f"Sensitivity: deadlines met when arrivals move by up to 2 s ({count} seeds)"
    table = Table(title, ["run", "policy", "as it is", "least", "median", "most"], labels=2)
    moved = place.output / "traces" / "moved.csv"
    moved.parent.mkdir(parents=True, exist_ok=True)
    runs = [run for figure in figures for run in figure.runs if run.name in RUNS]
    for run in runs:
        trace, _ = trace_of(place, run)
        if trace is None:
            continue
        found: dict[str, list[float]] = {policy: [] for policy in POLICIES}
        for seed in (None, *SEEDS):
            if seed is not None:
                jitter(trace, moved, seed)
            path = trace if seed is None else moved
            for policy in POLICIES:
                simulation = child.Simulation(
                    path, run.cluster, run.slot, policy, "artifact", place.speeds
                )
                row = child.simulate(place.binary, simulation)
                found[policy].append(float(row["deadline_met_ratio"]))
        for policy, (first, *rest) in found.items():
            rest.sort()
            cells = [first, rest[0], rest[count // 2], rest[-1]]
            table.rows.append([run.name, policy, *(f"{cell:.3f}" for cell in cells)])
    return table
