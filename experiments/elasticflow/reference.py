"""Values of others: published, and measured with the artifact. Never a value of our own."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from bad_config import BadConfig
from settings import Figure

# Which of our policies stands for which system of the paper.
SYSTEM_OF = {
    "elasticflow": "ElasticFlow",
    "elasticflow-artifact": "ElasticFlow",
    "edf": "EDF",
    "edf-ac": "EDF+AC",
    "tiresias": "Tiresias",
}
KINDS = ("published", "measured", "patched")
NOT_SYSTEMS = {"figure", "setting", "metric", "trace", "gpus_in_artifact_script"}


@dataclass(frozen=True, order=True)
class Key:
    """Names one value."""

    run: str
    kind: str
    system: str
    metric: str


References = dict[Key, float]


def _rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [{k or "": v or "" for k, v in row.items()} for row in csv.DictReader(file)]
    except (OSError, UnicodeDecodeError, csv.Error, AttributeError) as error:
        raise BadConfig(f"{path.name}: {error}") from error


def _number(text: str, where: str) -> float:
    """A number, or BadConfig."""
    try:
        return float(text)
    except ValueError as error:
        raise BadConfig(f"{where}: {text!r} is no number") from error


def load_measured(path: Path) -> References:
    """Reads reference.csv; empty cells are unknown."""
    values: References = {}
    for row in _rows(path):
        if row.get("kind") not in KINDS:
            raise BadConfig(f"{path.name}: kind is {row.get('kind')!r}, expected one of {KINDS}")
        for metric, text in row.items():
            if metric not in ("run", "system", "kind") and text:
                key = Key(row["run"], row["kind"], row["system"], metric)
                values[key] = _number(text, path.name)
    return values


def load_published(figures: list[Figure], folder: Path) -> tuple[References, list[str]]:
    """Published values of all runs, and the names of files that are not there."""
    values: References = {}
    absent: set[str] = set()
    for run in (run for figure in figures for run in figure.runs):
        for place in run.published:
            path = folder / place.file
            if not path.is_file():
                absent.add(place.file)
                continue
            for row in _rows(path):
                if any(row.get(column) != value for column, value in place.where.items()):
                    continue
                for system, text in row.items():
                    if system not in NOT_SYSTEMS and text:
                        key = Key(run.name, "published", system, place.metric)
                        values[key] = _number(text, place.file)
    return values, sorted(absent)


def others(values: References, run: str, metric: str) -> list[tuple[str, str, float]]:
    """(kind, system, value) of the systems for which we have no policy of the same name."""
    ours = set(SYSTEM_OF.values())
    found = [
        (KINDS.index(key.kind), key.system, value)
        for key, value in values.items()
        if key.run == run and key.metric == metric and key.system not in ours
    ]
    return [(KINDS[kind], system, value) for kind, system, value in sorted(found)]


def with_gains(values: References) -> References:
    """Adds be_gain to the measured systems: Gandiva's best-effort completion time over theirs."""
    added = dict(values)
    for key, value in values.items():
        gandiva = values.get(Key(key.run, key.kind, "Gandiva", "be_jct_h"))
        if key.metric == "be_jct_h" and gandiva and value > 0:
            added[Key(key.run, key.kind, key.system, "be_gain")] = gandiva / value
    return added
