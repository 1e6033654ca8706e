"""Two jobs in simulation: under a gang policy, and under policies that use what is left over."""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from pathlib import Path

import child
from bad_config import BadConfig
from tables import Table

GANG = "fifo"
# Starts on what is free and takes what it asked for when it can; never decides for another size.
ELASTIC = "autoscale:every=1000000000"
POLICIES = {
    "gang": GANG,
    "elastic": ELASTIC,
    "max-min": "max-min",
    "afs-l": "afs-l:packing=off",
    "tapfinger-greedy": "tapfinger-greedy",
}
SLOT_SECONDS = 0.1


@dataclass(frozen=True)
class Scenario:
    """Both jobs take `seconds` on `workers`; the second comes later."""

    name: str
    title: str
    gpus: int
    workers: int
    seconds: float
    second_at: float
    gang: tuple[float, float]
    elastic: tuple[float, float]

    def published(self, system: str) -> tuple[float, float] | None:
        """When the jobs ended, if that was published."""
        return {"gang": self.gang, "elastic": self.elastic}.get(system)


@dataclass(frozen=True)
class Ends:
    """When the first and the last of the two jobs end, in seconds."""

    first: float
    last: float


def load_scenarios(path: Path) -> list[Scenario]:
    """Reads scenarios.toml; raises BadConfig."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))["scenario"]
        found = []
        for table in tables:
            pairs = {name: tuple(map(float, table[name])) for name in ("gang", "elastic")}
            found.append(Scenario(**(table | pairs)))
        return found
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise BadConfig(f"{path.name}: {error!r}") from error


def write_inputs(scenario: Scenario, folder: Path) -> tuple[Path, Path]:
    """The trace and the speeds: each worker makes one step per second."""
    folder.mkdir(parents=True, exist_ok=True)
    trace, speeds = folder / f"{scenario.name}.csv", folder / f"{scenario.name}-speeds.csv"
    with trace.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        names = ["job_id", "submission_time", "num_iteration", "model_name", "deadline"]
        out.writerow([*names, "batch_size", "num_gpu", "duration", "best_effort"])
        for name, arrival in (("first", 0.0), ("second", scenario.second_at)):
            steps = round(scenario.seconds * scenario.workers)
            due = arrival + scenario.seconds
            out.writerow(
                [name, arrival, steps, "pods", due, 1, scenario.workers, scenario.seconds, 1]
            )
    with speeds.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["gpu_type", "model", "global_batch", "gpus", "iters_per_s"])
        for workers in range(1, scenario.workers + 1):
            out.writerow(["CPU", "pods", 1, workers, workers])
    return trace, speeds


def ends_of(scenario: Scenario, row: dict[str, float]) -> Ends:
    """From mean completion time and makespan, which say it all when there are two jobs."""
    last = row["makespan_seconds"]
    return Ends(2 * row["jct_avg_seconds"] + scenario.second_at - last, last)


def run_scenario(binary: Path, scenario: Scenario, folder: Path) -> dict[str, Ends]:
    """By system; raises ChildFailed."""
    trace, speeds = write_inputs(scenario, folder)
    cluster = f"1x{scenario.gpus}:CPU"
    found = {}
    for system, policy in POLICIES.items():
        simulation = child.Simulation(trace, cluster, SLOT_SECONDS, policy, "none", speeds)
        found[system] = ends_of(scenario, child.simulate(binary, simulation))
    return found


def scenario_table(scenario: Scenario, found: dict[str, Ends]) -> Table:
    """Ours beside the published ends."""
    header = ["", "first ends, s", "published", "last ends, s", "published", "of gang"]
    table = Table(f"{scenario.name}: {scenario.title}", header)
    for system, ends in found.items():
        published = scenario.published(system)
        cells = [system, f"{ends.first:.0f}", f"{published[0]:.0f}" if published else "-"]
        cells += [f"{ends.last:.0f}", f"{published[1]:.0f}" if published else "-"]
        table.rows.append([*cells, f"{ends.last / found['gang'].last:.2f}"])
    return table
