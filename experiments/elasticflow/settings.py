"""What is to be run: one TOML file per figure, one for the ablation."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bad_config import BadConfig

POLICIES = ("elasticflow", "elasticflow-artifact", "edf", "edf-ac", "tiresias")
# elasticflow-artifact is left out: its point is the artifact's own accounting.
PHYSICAL_POLICIES = ("elasticflow", "edf", "edf-ac", "tiresias")
METRICS = ("dsr", "ce", "makespan_h", "jct_h", "be_jct_h", "be_gain")
OVERHEADS = ("artifact", "physical", "none")


@dataclass(frozen=True)
class Published:
    """Where a published value stands: the row of a CSV file in which all `where` columns match."""

    metric: str
    file: str
    where: dict[str, str]


@dataclass(frozen=True)
class Fallback:
    """Arguments of `rubato trace generate`, for when there is no data."""

    jobs: int
    load: float
    seed: int
    best_effort: float = 0.0
    tightness_min: float = 0.5
    tightness_max: float = 1.5
    arrivals: str = "poisson"


@dataclass(frozen=True)
class Run:
    """One trace on one cluster."""

    name: str
    trace: str
    cluster: str
    slot: float
    published: tuple[Published, ...] = ()
    fallback: Fallback | None = None


@dataclass(frozen=True)
class Figure:
    """One figure of the paper."""

    figure: str
    title: str
    metrics: tuple[str, ...]
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Variant:
    """One line of the ablation; what is None stays as in the figure."""

    name: str
    policy: str | None = None
    overhead: str | None = None
    slot: float | None = None
    noise: float = 0.0


@dataclass(frozen=True)
class Ablation:
    """One policy, some runs of the figures, and what is changed."""

    policy: str
    runs: tuple[str, ...]
    variants: tuple[Variant, ...] = field(default=())


def _make(kind: type, table: Any, where: str) -> Any:
    """An object of `kind` from a TOML table; a wrong or missing key is named."""
    if not isinstance(table, dict):
        raise BadConfig(f"{where}: expected a table, found {table!r}")
    try:
        return kind(**table)
    except TypeError as error:
        raise BadConfig(f"{where}: {error}") from error


def _read(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadConfig(f"{path.name}: {error}") from error


def _run(table: dict[str, Any], where: str) -> Run:
    """One [[run]]."""
    entry = dict(table)
    at = f"{where}: run {entry.get('name', '?')}"
    entry["published"] = tuple(_make(Published, row, at) for row in entry.get("published", ()))
    if entry.get("fallback") is not None:
        entry["fallback"] = _make(Fallback, entry["fallback"], at)
    run: Run = _make(Run, entry, at)
    if not isinstance(run.slot, (int, float)) or run.slot <= 0:
        raise BadConfig(f"{at}: slot is {run.slot!r}, expected seconds above 0")
    if Path(run.trace).name != run.trace:
        raise BadConfig(f"{at}: trace is {run.trace!r}, expected a file name without folders")
    return run


def load_figure(path: Path) -> Figure:
    """Reads one figure; raises BadConfig."""
    table = _read(path)
    runs = tuple(_run(entry, path.name) for entry in table.pop("run", ()))
    if not runs:
        raise BadConfig(f"{path.name}: no [[run]]")
    metrics = tuple(table.pop("metrics", ()))
    unknown = [name for name in metrics if name not in METRICS]
    if unknown or not metrics:
        raise BadConfig(f"{path.name}: metrics {unknown or 'missing'}, known: {', '.join(METRICS)}")
    figure: Figure = _make(Figure, table | {"metrics": metrics, "runs": runs}, path.name)
    return figure


def load_figures(folder: Path) -> list[Figure]:
    """All figures of a folder, in the paper's order; run names are unique among them."""
    figures = [load_figure(path) for path in folder.glob("*.toml")]
    figures.sort(key=lambda one: (int("".join(filter(str.isdigit, one.figure)) or 0), one.figure))
    seen: set[str] = set()
    for run in (run for figure in figures for run in figure.runs):
        if run.name in seen:
            raise BadConfig(f"two runs are called {run.name}")
        seen.add(run.name)
    return figures


def load_ablation(path: Path) -> Ablation:
    """Reads the ablation; raises BadConfig."""
    table = _read(path)
    variants = tuple(_make(Variant, row, path.name) for row in table.pop("variant", ()))
    for variant in variants:
        if variant.overhead not in (None, *OVERHEADS):
            raise BadConfig(f"{path.name}: {variant.name}: overhead {variant.overhead!r}")
    table["runs"] = tuple(table.get("runs", ()))
    ablation: Ablation = _make(Ablation, table | {"variants": variants}, path.name)
    return ablation
