"""From jobs of a trace, or of a generator, to jobs of the nine models: a seeded draw."""

from __future__ import annotations

import csv
import math
import random
from dataclasses import dataclass
from pathlib import Path

from bad_config import BadConfig
from models import Model

HEADER = ["job_id", "submission_time", "num_iteration", "model_name", "deadline"]
HEADER += ["batch_size", "num_gpu", "duration", "best_effort"]
# The authors' second workload: how many jobs ask for how many GPUs.
GENERATED = {2: 40, 4: 80, 8: 90, 16: 25, 32: 5}
SERVICE_SECONDS = (120.0, 7200.0)
GAP_SECONDS = 30.0


@dataclass(frozen=True)
class Request:
    """What a trace says about a job."""

    name: str
    arrival: float
    gpus: int
    service: float  # Seconds on that many GPUs.


def read_requests(path: Path, rows: int | None) -> list[Request]:
    """The first rows of an ElasticFlow trace; raises BadConfig."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            requests = [
                Request(
                    row["job_id"],
                    float(row["submission_time"]),
                    int(row["num_gpu"]),
                    float(row["duration"]),
                )
                for row in csv.DictReader(file)
            ]
    except (OSError, UnicodeDecodeError, csv.Error, KeyError, TypeError, ValueError) as error:
        raise BadConfig(f"{path.name}: {error!r}") from error
    return requests[:rows]


def generated_requests(seed: int) -> list[Request]:
    """240 jobs in random order, uniform service times, Poisson arrivals."""
    # Only random() is used: its numbers are the same in every version of Python.
    draw = random.Random(seed).random
    widths = [gpus for gpus, count in GENERATED.items() for _ in range(count)]
    for last in range(len(widths) - 1, 0, -1):
        other = int(draw() * (last + 1))
        widths[last], widths[other] = widths[other], widths[last]
    requests = []
    arrival = 0.0
    for number, gpus in enumerate(widths):
        arrival += -math.log(1 - draw()) * GAP_SECONDS
        low, high = SERVICE_SECONDS
        requests.append(Request(str(number), arrival, gpus, low + (high - low) * draw()))
    return requests


def write_trace(requests: list[Request], models: list[Model], seed: int, path: Path) -> int:
    """Draws a model for each job among those wide enough and writes the trace; returns the jobs.

    Steps are service time over step time at the requested count. Jobs that no model is wide enough
    for are left out.
    """
    draw = random.Random(seed).random
    jobs = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(HEADER)
        for request in requests:
            fitting = [model for model in models if model.gpus_max >= request.gpus]
            if not fitting:
                continue
            model = fitting[int(draw() * len(fitting))]
            steps = max(1, round(request.service / model.step_seconds(request.gpus)))
            due = request.arrival + request.service
            row: list[object] = [request.name, f"{request.arrival:.6f}", steps, model.name]
            row += [f"{due:.6f}", model.batch, request.gpus, f"{request.service:.6f}", 1]
            out.writerow(row)
            jobs += 1
    return jobs
