"""What the trainer and the measurement of gradient noise cost, in processor time per step."""

import json
from pathlib import Path
from statistics import median
from typing import Dict, List, Sequence

from machine import BUILD, end_sessions, finish, launch, program
from spread import of_rounds

STEPS_PER_ROUND = {"cnn": 30, "lm": 50, "widedeep": 120}
LIMIT_SECONDS = 600
WARM_UP_STEPS = 5
WORKERS = 2


def compared(base: Sequence[float], other: Sequence[float], rounds: int) -> Dict[str, float]:
    """How much more the other takes, as a fraction, step by step."""
    found = of_rounds([b / a - 1 for a, b in zip(base, other)], rounds)
    return {**found, "base_ms": 1e3 * median(base), "other_ms": 1e3 * median(other)}


def measure_wrapper(folder: Path, name: str, rounds: int) -> Dict[str, float]:
    log = folder / f"wrapper-{name}.log"
    result = folder / f"wrapper-{name}.json"
    steps = rounds * STEPS_PER_ROUND[name]
    finish(launch(program("overhead_program.py", result, name, steps), log), log, LIMIT_SECONDS)
    times = json.loads(result.read_text())
    return compared(times["bare"], times["ours"], rounds)


def measure_noise(folder: Path, rounds: int) -> Dict[str, float]:
    """With two workers, whose gradients are compared as they are added up."""
    place = folder / "noise"
    steps = rounds * STEPS_PER_ROUND["cnn"] + WARM_UP_STEPS
    jobs = []
    for name in ("plain", "noise"):
        (place / name).mkdir(parents=True)
        jobs.append(launch(
            [BUILD / "rubato", "train", "--workers", WORKERS, "--patience", LIMIT_SECONDS, "--",
             *program("noise_program.py", "lend", place / name)],
            place / f"{name}.log",
        ))
    workers = [
        launch(program("noise_program.py", "train", place, rank, WORKERS, steps),
               place / f"{rank}.log")
        for rank in range(WORKERS)
    ]
    try:
        for rank, worker in enumerate(workers):
            finish(worker, place / f"{rank}.log", LIMIT_SECONDS)
        for name in ("plain", "noise"):
            (place / name / "done").touch()
        for job in jobs:
            job.wait(LIMIT_SECONDS)
    finally:
        end_sessions(workers + jobs)
    plain: List[float] = []
    noise: List[float] = []
    for rank in range(WORKERS):
        times = json.loads((place / f"{rank}.times").read_text())
        plain, noise = plain + times["plain"], noise + times["noise"]
    return compared(plain, noise, rounds)


def measure(folder: Path, rounds: int) -> Dict[str, Dict[str, float]]:
    found = {f"wrapper_{name}": measure_wrapper(folder, name, rounds) for name in STEPS_PER_ROUND}
    found["noise_scale_cnn"] = measure_noise(folder, rounds)
    for name, one in found.items():
        print(f"  overhead {name}: {one['median']:+.2%} ({one['min']:+.2%} to {one['max']:+.2%})",
              flush=True)
    return found
