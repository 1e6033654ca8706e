"""expected.csv: what each number should be, and whether it is."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from bad_config import BadConfig

RELATIONS = ("near", "at least", "at most")
# Numbers are printed and expected with at most four digits; below that, equal is equal.
ROUNDING = 5e-7


@dataclass(frozen=True)
class Expectation:
    """One row. A source that begins with `bar` must hold; others are only marked."""

    run: str
    policy: str
    accounting: str
    metric: str
    relation: str
    value: float
    tolerance: float
    source: str
    trials: str

    @property
    def is_bar(self) -> bool:
        """Whether the command fails when this does not hold."""
        return self.source.startswith("bar")


def holds(expectation: Expectation, found: float) -> bool:
    """Whether a number is as expected; a number that is none never is."""
    slack = expectation.tolerance + ROUNDING
    if expectation.relation == "near":
        return abs(found - expectation.value) <= slack
    if expectation.relation == "at least":
        return found >= expectation.value - slack
    return found <= expectation.value + slack


def mark(expectation: Expectation, found: float | None, was_run: bool) -> str:
    """ok, off, MISSED (a bar), or skipped (there was nothing to run)."""
    if not was_run:
        return "skipped"
    if found is not None and holds(expectation, found):
        return "ok"
    return "MISSED" if expectation.is_bar else "off"


def load_expected(path: Path) -> list[Expectation]:
    """Reads expected.csv; raises BadConfig with the line."""
    expectations = []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for number, row in enumerate(csv.DictReader(file), start=2):
                expectations.append(_expectation(row, f"{path.name}:{number}"))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadConfig(f"{path.name}: {error}") from error
    return expectations


def _expectation(row: dict[str, str], where: str) -> Expectation:
    """One row, checked."""
    try:
        numbers = {name: float(row[name]) for name in ("value", "tolerance")}
        texts = {name: row[name] for name in row if name not in numbers}
        expectation = Expectation(**texts, **numbers)
    except (KeyError, TypeError, ValueError) as error:
        raise BadConfig(f"{where}: {error!r}") from error
    if expectation.relation not in RELATIONS:
        raise BadConfig(f"{where}: relation {expectation.relation!r}, known: {RELATIONS}")
    if not expectation.tolerance >= 0:
        raise BadConfig(f"{where}: tolerance {expectation.tolerance}, expected 0 or more")
    return expectation
