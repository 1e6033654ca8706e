"""The jobs of the testbed: a public trace, compressed in time, with steps that two cores can carry."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path

from bad_config import BadConfig

GPU_TYPE = "A100"
# One job of the trace would train for five days after all others have ended. It is cut: a part of its
# work, with that part of its time.
LONGEST_SECONDS = 200_000.0  # On one GPU as the trace has it: its `duration`.
# Emulated steps: no more per second than this on the best number of GPUs, nor on one.
STEPS_PER_SECOND_MAX = 20.0
STEPS_PER_SECOND_ALONE_MAX = 5.0


@dataclass(frozen=True)
class TestbedJob:
    """A job as it is submitted; times are compressed seconds."""

    name: str
    arrival: float  # After the first.
    allowed: float  # From its arrival to its deadline.
    steps: int
    speeds: dict[int, float]  # Steps per second by number of GPUs.


def read_speeds(path: Path) -> dict[tuple[str, int], dict[int, float]]:
    """Iterations per second by model and batch, then GPUs, of one type of GPU."""
    found: dict[tuple[str, int], dict[int, float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["gpu_type"] == GPU_TYPE:
                key = (row["model"], int(row["global_batch"]))
                found.setdefault(key, {})[int(row["gpus"])] = float(row["iters_per_s"])
    return found


def emulated(work: float, speeds: dict[int, float], compression: float) -> tuple[int, dict[int, float]]:
    """The same training in steps of another length: whole steps and their speeds."""
    highest, alone = max(speeds.values()), speeds[min(speeds)]
    scale = min(STEPS_PER_SECOND_MAX / highest, STEPS_PER_SECOND_ALONE_MAX / alone)
    seconds = work / highest / compression  # On the best number of GPUs.
    steps = max(1, round(seconds * highest * scale))
    # What rounding adds to the work, the speeds make up for.
    factor = scale * steps / (seconds * highest * scale)
    return steps, {gpus: speed * factor for gpus, speed in sorted(speeds.items())}


def rising(speeds: dict[int, float]) -> dict[int, float]:
    """Up to the number of GPUs that is fastest."""
    best = max(speeds, key=lambda gpus: speeds[gpus])
    return {gpus: speed for gpus, speed in speeds.items() if gpus <= best}


def read_elasticflow(trace: Path, speeds: Path, compression: float) -> list[TestbedJob]:
    """The trace as published, with the speeds published beside it."""
    known = read_speeds(speeds)
    with trace.open(encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["submission_time"]))
    if not rows:
        raise BadConfig(f"{trace.name}: no jobs")
    first = int(rows[0]["submission_time"])
    jobs = []
    for row in rows:
        curve = rising(known[row["model_name"], int(row["batch_size"])])
        part = min(1.0, LONGEST_SECONDS / float(row["duration"]))
        steps, curve = emulated(float(row["num_iteration"]) * part, curve, compression)
        arrival = int(row["submission_time"])
        allowed = (int(row["deadline"]) - arrival) * part
        jobs.append(
            TestbedJob(
                row["job_id"][:8], (arrival - first) / compression, allowed / compression, steps, curve
            )
        )
    return jobs


def assumed_speeds(at: int, speed: float, gpus_max: int = 32) -> dict[int, float]:
    """A curve through one point, for jobs of which nothing else is known: five percent serial."""
    gpus = [1 << i for i in range(gpus_max.bit_length())]
    shape = {n: n / (1 + 0.05 * (n - 1)) for n in [*gpus, at]}
    return {n: speed * shape[n] / shape[at] for n in gpus}


def read_generated(text: str, compression: float) -> list[TestbedJob]:
    """What `rubato trace generate` prints; its speeds are assumed."""
    rows = [json.loads(line) for line in text.splitlines() if line.strip()][1:]
    rows.sort(key=lambda row: row["arrival"])
    jobs = []
    for number, row in enumerate(rows):
        duration = row["duration"]
        part = min(1.0, LONGEST_SECONDS / duration)
        steps, curve = emulated(duration * part, assumed_speeds(row.get("requested", 1), 1.0), compression)
        arrival = row["arrival"] - rows[0]["arrival"]
        allowed = (row["deadline"] - row["arrival"]) * part
        jobs.append(TestbedJob(f"made-{number}", arrival / compression, allowed / compression, steps, curve))
    return jobs
