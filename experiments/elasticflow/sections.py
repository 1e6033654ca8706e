"""Turns results into tables. Nothing here decides what is run or what is expected."""

from __future__ import annotations

from typing import Any

from campaign import Results
from expectation import Expectation, mark
from reference import SYSTEM_OF, Key, References, others
from settings import PHYSICAL_POLICIES, POLICIES, Ablation, Figure, Run
from tables import Table

FIELD_OF = {
    "dsr": ("deadline_met_ratio", 1.0),
    "ce": ("cluster_efficiency", 1.0),
    "makespan_h": ("makespan_seconds", 3600.0),
    "jct_h": ("jct_avg_seconds", 3600.0),
    "be_jct_h": ("best_effort_jct_avg_seconds", 3600.0),
    "broken": ("promises_broken", 1.0),
    "cpu_s": ("cpu_seconds", 1.0),
}
DIGITS = {"dsr": 3, "ce": 4, "makespan_h": 1, "broken": 0, "speedup": 0, "cpu_s": 3}
NAME_OF = {
    "dsr": "deadlines met",
    "ce": "cluster efficiency",
    "makespan_h": "makespan, h",
    "jct_h": "mean JCT, h",
    "be_jct_h": "best-effort JCT, h",
    "be_gain": "best-effort gain",
}
PHYSICAL_NOTE = (
    "* another accounting (pauses only on change): compare it with nothing outside its column, "
    "least of all with published or artifact values."
)


def shown(value: float | None, metric: str) -> str:
    """A number with the digits of its metric; a dash for none."""
    return "-" if value is None else f"{value:.{DIGITS.get(metric, 2)}f}"


def value_of(results: Results, key: tuple[str, str, str], metric: str, known: References) -> Any:
    """One number of one simulation, or None."""
    row = results.rows.get(key)
    if row is None:
        return None
    if metric == "speedup":
        theirs = known.get(Key(key[0], "measured", "ElasticFlow", "cpu_s"))
        return theirs / row["cpu_seconds"] if theirs and row["cpu_seconds"] > 0 else None
    if metric == "be_gain":
        gandiva = known.get(Key(key[0], "measured", "Gandiva", "be_jct_h"))
        ours = value_of(results, key, "be_jct_h", known)
        return gandiva / ours if gandiva and ours else None
    name, unit = FIELD_OF[metric]
    found = row.get(name)
    return None if found is None else float(found) / unit


def _metric_rows(run: Run, metric: str, results: Results, known: References) -> list[list[str]]:
    """The rows of one run and metric: our policies beside the systems they stand for."""
    rows = []
    for policy in POLICIES:
        system = SYSTEM_OF[policy]
        cells = [value_of(results, (run.name, policy, "artifact"), metric, known)]
        for kind in ("published", "measured"):
            cells.append(known.get(Key(run.name, kind, system, metric)))
        if policy in PHYSICAL_POLICIES:
            cells.append(value_of(results, (run.name, policy, "physical"), metric, known))
        else:
            cells.append(None)
        rows.append(["", "", policy, *(shown(cell, metric) for cell in cells)])
    row = results.rows.get((run.name, POLICIES[0], "artifact"))
    if metric == "dsr" and row:
        bound = shown(row.get("deadline_upper_bound"), "dsr")
        rows.append(["", "", "(upper bound)", bound, "-", "-", "-"])
    rows[0][1] = NAME_OF[metric]
    if all(cell == "-" for row_cells in rows for cell in row_cells[3:]):
        return []
    return rows


def figure_table(figure: Figure, results: Results, known: References) -> Table:
    """Ours, published, measured; physical apart."""
    table = Table(f"Figure {figure.figure}: {figure.title}", [], labels=3)
    table.header = ["run", "metric", "policy", "ours", "published", "artifact run", "physical*"]
    for run in figure.runs:
        if run.name in results.skipped:
            reason = results.skipped[run.name]
            published = known.get(Key(run.name, "published", "ElasticFlow", "dsr"))
            note = f"; published ElasticFlow {published:.3f}" if published is not None else ""
            table.notes.append(f"skipped {run.name}: {reason}{note}")
            continue
        start = len(table.rows)
        for metric in figure.metrics:
            table.rows += _metric_rows(run, metric, results, known)
            beside = [
                f"{system} {shown(value, metric)} ({kind})"
                for kind, system, value in others(known, run.name, metric)
            ]
            if beside:
                table.notes.append(f"{run.name}, {NAME_OF[metric]}, others: {', '.join(beside)}")
        if len(table.rows) > start:
            table.rows[start][0] = f"{run.name} {run.cluster} slot {run.slot:g}"
    table.notes.append(PHYSICAL_NOTE)
    return table


def fidelity_table(figures: list[Figure], results: Results, known: References) -> Table:
    """elasticflow-artifact against the artifact itself."""
    table = Table("elasticflow-artifact against the artifact: deadlines met", [])
    table.header = ["run", "artifact", "jobs", "ours", "jobs", "difference"]
    for run in (run for figure in figures for run in figure.runs):
        row = results.rows.get((run.name, "elasticflow-artifact", "artifact"))
        theirs = known.get(Key(run.name, "measured", "ElasticFlow", "dsr"))
        met = known.get(Key(run.name, "measured", "ElasticFlow", "met"))
        if row and theirs is not None and met is not None:
            ours = row["deadline_met_ratio"]
            difference = (row["deadline_met"] - met) / max(1, row["deadline_jobs"])
            table.rows.append(
                [run.name, shown(theirs, "dsr"), f"{met:.0f}", shown(ours, "dsr")]
                + [str(row["deadline_met"]), f"{difference:+.3f}"]
            )
    return table


def speed_table(figures: list[Figure], results: Results, known: References) -> Table:
    """CPU time; the only table that differs from one repetition to the next."""
    table = Table("CPU time of elasticflow, accounting artifact, against the artifact", [])
    table.header = ["run", "wall s", "CPU s", "CPU s physical*", "artifact CPU s", "ratio"]
    table.header.append("elasticflow-artifact CPU s")
    for run in (run for figure in figures for run in figure.runs):
        key = (run.name, "elasticflow", "artifact")
        if key not in results.rows:
            continue
        baseline = (run.name, "elasticflow-artifact", "artifact")
        theirs = known.get(Key(run.name, "measured", "ElasticFlow", "cpu_s"))
        table.rows.append(
            [run.name, shown(results.rows[key].get("wall_seconds"), "cpu_s")]
            + [shown(value_of(results, key, "cpu_s", known), "cpu_s")]
            + [shown(value_of(results, (*key[:2], "physical"), "cpu_s", known), "cpu_s")]
            + [shown(theirs, ""), shown(value_of(results, key, "speedup", known), "speedup")]
            + [shown(value_of(results, baseline, "cpu_s", known), "cpu_s")]
        )
    table.notes += [
        "CPU: user and system time of the whole process, reading the trace included.",
        "The artifact's CPU seconds were measured once, under CPython or PyPy (README.md).",
    ]
    return table


def expected_table(
    expectations: list[Expectation], runs: list[str], results: Results, known: References
) -> tuple[Table, int]:
    """Every expectation with its mark, bars first, and how many bars are missed."""
    table = Table("Expected numbers", [], labels=5)
    table.header = ["run", "policy", "accounting", "metric", "source", "expected", "found", "mark"]
    missed = 0
    for one in sorted(expectations, key=lambda row: not row.is_bar):
        for run in runs if one.run == "*" else [one.run]:
            found = value_of(results, (run, one.policy, one.accounting), one.metric, known)
            result = mark(one, found, results.was_run(run))
            missed += result == "MISSED"
            if one.run == "*" and result in ("ok", "skipped"):
                continue
            sign = {"near": "", "at least": ">= ", "at most": "<= "}[one.relation]
            about = f" +- {one.tolerance:g}" if one.tolerance else ""
            table.rows.append(
                [run, one.policy, one.accounting, one.metric, one.source]
                + [f"{sign}{one.value:g}{about}", shown(found, one.metric), result]
            )
        if one.run == "*":
            table.rows.append(_summary(one, runs, results, known))
    return table, missed


def _summary(one: Expectation, runs: list[str], results: Results, known: References) -> list[str]:
    """One row for an expectation about every run: the worst value."""
    keys = [(run, one.policy, one.accounting) for run in runs if results.was_run(run)]
    found = [value_of(results, key, one.metric, known) for key in keys]
    values = [value for value in found if value is not None]
    worst = (max if one.relation == "at most" else min)(values, default=None)
    whole = worst if len(values) == len(found) else None
    cells = [f"all {len(found)} runs", one.policy, one.accounting, one.metric, one.source]
    sign = {"near": "", "at least": ">= ", "at most": "<= "}[one.relation]
    return cells + [f"{sign}{one.value:g}", shown(worst, one.metric), mark(one, whole, bool(keys))]


def ablation_table(plan: Ablation, results: Results) -> Table:
    """Deadlines met by each variant."""
    table = Table(f"Ablation of {plan.policy}: deadlines met (promises broken)", [])
    table.header = ["variant", *plan.runs]
    for variant in plan.variants:
        cells = []
        for run in plan.runs:
            row = results.ablation.get((variant.name, run))
            if isinstance(row, dict):
                cells.append(f"{row['deadline_met_ratio']:.3f} ({row['promises_broken']})")
            else:
                cells.append("-" if row is None else "failed")
                if row is not None:
                    table.notes.append(f"{variant.name}, {run}: {row}")
        table.rows.append([variant.name, *cells])
    table.notes.append("Rows of another accounting (physical, free) show what accounting costs.")
    return table
