"""Where quotes were wrong, and where live and simulated runs part."""

from __future__ import annotations

from comparison import Outcome, percentile
from tables import Table

PARTS = (0.1, 0.25, 0.5, 0.75, 0.9)
SHORT_SECONDS = (5.0, 20.0, 60.0)


def errors_table(live: list[Outcome]) -> Table:
    """Signed errors of quotes, by quoted duration: negative is earlier than quoted."""
    table = Table("Quote errors, percent of the quoted duration",
                  ["quoted duration", "jobs", *(f"p{100 * part:.0f}" for part in PARTS), "|p90|"])  # fmt: skip
    edges = [0.0, *SHORT_SECONDS, float("inf")]
    for low, high in [*zip(edges, edges[1:]), (0.0, float("inf"))]:
        errors = [
            one.quote_error for one in live
            if one.quote_error is not None and low <= one.quoted - one.submitted < high  # type: ignore[operator]
        ]  # fmt: skip
        if not errors:
            continue
        label = "all" if (low, high) == (0.0, float("inf")) else f"{low:g} to {high:g} s"
        shown = [f"{100 * percentile(errors, part):.1f}" for part in PARTS]
        worst = f"{100 * percentile([abs(error) for error in errors], 0.9):.1f}"
        table.rows.append([label, str(len(errors)), *shown, worst])
    return table


def arrivals_after(one: Outcome, all_jobs: list[Outcome]) -> int:
    """Promised jobs that came between its submission and its quoted finish."""
    end = one.quoted if one.quoted is not None else one.submitted
    return sum(other.promised and one.submitted < other.submitted < end for other in all_jobs)


def causes_table(live: list[Outcome]) -> Table:
    """Whether those who came later spoiled the quotes of those who were there."""
    table = Table("Where quote errors come from (absolute errors, percent of the quoted duration)",
                  ["jobs that came before the quoted finish", "jobs", "p50", "p90"])  # fmt: skip
    groups: dict[str, list[float]] = {}
    for one in live:
        if one.quote_error is None or one.quoted is None:
            continue
        came = arrivals_after(one, live)
        label = "none" if came == 0 else "1 or 2" if came <= 2 else "3 to 9" if came < 10 else "10 or more"
        groups.setdefault(label, []).append(abs(one.quote_error))
    for label in ("none", "1 or 2", "3 to 9", "10 or more"):
        errors = groups.get(label, [])
        if errors:
            shown = [percentile(errors, 0.5), percentile(errors, 0.9)]
            table.rows.append([label, str(len(errors)), *(f"{100 * value:.1f}" for value in shown)])
    return table


def pairs_table(live: list[Outcome], simulated: list[Outcome], rows: int = 8) -> Table:
    """The jobs of which live and simulated runs differ most."""
    table = Table("Largest differences, s", ["job", "submitted", "live JCT", "simulated JCT", "quoted"])
    pairs = [(one, other) for one, other in zip(live, simulated)
             if (one.finished is None) != (other.finished is None) or one.finished != other.finished]  # fmt: skip
    pairs.sort(key=lambda pair: -_distance(*pair))

    def shown(one: Outcome, value: float | None) -> str:
        return "refused" if value is None else f"{value - one.submitted:.1f}"

    for one, other in pairs[:rows]:
        table.rows.append([one.name, f"{one.submitted:.1f}", shown(one, one.finished),
                           shown(other, other.finished), shown(one, one.quoted)])  # fmt: skip
    differing = sum((one.finished is None) != (other.finished is None) for one, other in zip(live, simulated))
    table.notes.append(f"verdicts that differ: {differing}")
    return table


def _distance(one: Outcome, other: Outcome) -> float:
    """Jobs that only one world finished come first."""
    if one.finished is None or other.finished is None:
        return float("inf")
    return abs(one.finished - other.finished)
