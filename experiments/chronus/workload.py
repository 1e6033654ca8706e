"""Draws jobs as the traces published with Chronus have them; see README.md for how that is known."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MINUTE = 60.0
HOUR = 60.0  # Minutes.

# Minutes of run time by share of jobs, between which the logarithm is evenly spread. None is below
# one lease: the published traces have no shorter jobs.
ONE_GPU = [(0, 20), (0.1, 23), (0.25, 30), (0.4, 39), (0.5, 55), (0.6, 80), (0.7, 115)]
ONE_GPU += [(0.8, 200), (0.9, 370), (0.95, 800), (0.98, 1500), (0.995, 2800), (1, 4000)]
SEVERAL_GPUS = [(0, 20), (0.1, 45), (0.25, 140), (0.5, 500), (0.75, 1500), (0.9, 2900), (1, 4000)]
# GPUs, and their share of jobs.
SIZES = [(1, 0.93), (2, 0.007), (4, 0.035), (8, 0.028)]

DEADLINE_FACTORS = (1.1, 2.0)  # Of the run time; the deadline is then put off to a whole hour.
TOGETHER = 3.0  # Jobs submitted within a minute of each other, on average.
WORTH = 10.0  # Of a job in time.
# What a soft deadline is worth, and by how much more of the run time it is put off each time.
SOFT_STEPS = [(1.0, WORTH), (1.25, 8.0), (1.5, 5.0)]


@dataclass(frozen=True)
class Mix:
    """One of the two kinds of workload; the rest of the jobs have no deadline."""

    name: str
    strict: float
    soft: float
    jobs: int
    days: float = 5


MIXES = {
    "mix1": Mix("mix1", strict=0.67, soft=0.0, jobs=1231),
    "mix2": Mix("mix2", strict=0.37, soft=0.30, jobs=1223),
}


def minutes_at(curve: list[tuple[float, float]], quantile: float) -> float:
    """The run time that this share of jobs does not exceed."""
    for (below, low), (above, high) in zip(curve, curve[1:]):
        if quantile <= above:
            return low * (high / low) ** ((quantile - below) / (above - below))
    return curve[-1][1]


def arrivals(jobs: int, minutes: float, draw: random.Random) -> list[float]:
    """Rising minutes: a user submits a few jobs at once, at any time."""
    times: list[float] = []
    while len(times) < jobs:
        at = draw.uniform(0, minutes)
        times.append(at)
        while len(times) < jobs and draw.random() < 1 - 1 / TOGETHER:
            at += draw.random()
            times.append(at)
    return sorted(times)


def whole_hour(minutes: float) -> float:
    """The next whole hour."""
    return math.ceil(minutes / HOUR) * HOUR


def job_of(number: int, arrival: float, mix: Mix, draw: random.Random) -> dict[str, Any]:
    """One line of the trace; times in it are seconds."""
    gpus = draw.choices([size for size, _ in SIZES], [share for _, share in SIZES])[0]
    curve = ONE_GPU if gpus == 1 else SEVERAL_GPUS
    run = math.floor(minutes_at(curve, draw.random()))
    factor = draw.uniform(*DEADLINE_FACTORS)
    kind = draw.random()
    arrival = math.floor(arrival)
    job = {
        "id": number, "class": "best_effort", "arrival": arrival * MINUTE, "work": run * MINUTE,
        "model": f"on-{gpus}", "batch": 1, "requested": gpus, "duration": run * MINUTE,
        "workers": {"listed": [gpus]}, "value": {"kind": "constant", "amount": WORTH},
    }  # fmt: skip
    due = [whole_hour(arrival + run * factor * times) for times, _ in SOFT_STEPS]
    if kind < mix.strict:
        steps = [{"within": (due[0] - arrival) * MINUTE, "amount": WORTH}]
        job |= {"class": "slo", "deadline": due[0] * MINUTE}
        job["value"] = {"kind": "steps", "steps": steps}
    elif kind < mix.strict + mix.soft:
        worth: dict[float, float] = {}  # By hour; the higher value if two deadlines share one.
        for at, (_, amount) in zip(due, SOFT_STEPS):
            worth.setdefault(at, amount)
        steps = [{"within": (at - arrival) * MINUTE, "amount": worth[at]} for at in sorted(worth)]
        job |= {"class": "soft", "deadline": due[0] * MINUTE}
        job["value"] = {"kind": "steps", "steps": steps}
    return job


def trace_of(mix: Mix, seed: int) -> list[dict[str, Any]]:
    """The same for the same seed."""
    draw = random.Random(seed)
    times = arrivals(mix.jobs, mix.days * 24 * HOUR, draw)
    return [job_of(number + 1, at, mix, draw) for number, at in enumerate(times)]


def write_inputs(folder: Path, mix: Mix, seed: int) -> tuple[Path, Path, list[dict[str, Any]]]:
    """Trace and speeds; a job makes one step per second on the GPUs it asks for, and no other way."""
    folder.mkdir(parents=True, exist_ok=True)
    jobs = trace_of(mix, seed)
    header = {"format": "rubato-trace/1", "source": "experiments/chronus", "seed": seed}
    trace = folder / f"{mix.name}-{seed}.jsonl"
    lines = [json.dumps(line) + "\n" for line in [header, *jobs]]
    trace.write_text("".join(lines), encoding="utf-8")
    speeds = folder / "speeds.csv"
    rows = ["gpu_type,model,global_batch,gpus,iters_per_s"]
    rows += [f"any,on-{gpus},1,{gpus},1" for gpus, _ in SIZES]
    speeds.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return trace, speeds, jobs
