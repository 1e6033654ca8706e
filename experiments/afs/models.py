"""The nine models of AFS: how long a step takes on how many GPUs."""

from __future__ import annotations

import csv
from bisect import bisect_left
from dataclasses import dataclass, field
from pathlib import Path

from bad_config import BadConfig

GPU_TYPE = "V100"


@dataclass
class Model:
    """Step times in seconds at the measured counts, which rise."""

    name: str
    batch: int
    gpus: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def gpus_max(self) -> int:
        """More were not measured, and are not used."""
        return self.gpus[-1]

    def step_seconds(self, gpus: int) -> float:
        """As measured; between two counts the time is interpolated linearly, as the authors do."""
        if not 1 <= gpus <= self.gpus_max:
            raise ValueError(f"{self.name} was not measured on {gpus} GPUs")
        above = bisect_left(self.gpus, gpus)
        if self.gpus[above] == gpus:
            return self.seconds[above]
        low, high = self.gpus[above - 1], self.gpus[above]
        part = (gpus - low) / (high - low)
        return self.seconds[above - 1] * (1 - part) + self.seconds[above] * part


def load_models(path: Path) -> list[Model]:
    """In the order of the file; raises BadConfig."""
    models: dict[str, Model] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                model = models.setdefault(row["model"], Model(row["model"], int(row["batch"])))
                model.gpus.append(int(row["gpus"]))
                model.seconds.append(float(row["step_ms"]) / 1000)
    except (OSError, UnicodeDecodeError, csv.Error, KeyError, TypeError, ValueError) as error:
        raise BadConfig(f"{path.name}: {error!r}") from error
    for model in models.values():
        if model.gpus[0] != 1 or sorted(set(model.gpus)) != model.gpus or min(model.seconds) <= 0:
            raise BadConfig(f"{path.name}: {model.name}: expected rising counts from 1, times above 0")
    if not models:
        raise BadConfig(f"{path.name}: no models")
    return list(models.values())


def write_speeds(models: list[Model], path: Path) -> None:
    """A speeds file for rubato, with a row for every count up to the largest measured."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["gpu_type", "model", "global_batch", "gpus", "iters_per_s"])
        for model in models:
            for gpus in range(1, model.gpus_max + 1):
                speed = 1 / model.step_seconds(gpus)
                out.writerow([GPU_TYPE, model.name, model.batch, gpus, f"{speed:.9g}"])
