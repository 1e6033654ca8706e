"""Samples per second of ours and of DDP over gloo, with one thread per worker."""

import json
from pathlib import Path
from statistics import median
from typing import Any, Dict

from machine import BUILD, finish, launch, program
from spread import of_rounds

STEPS = {"cnn": 6, "lm": 10, "widedeep": 30}  # Of a segment, about half a second.
SEGMENTS_PER_ROUND = 3
WORKERS = (1, 2, 4)
LIMIT_SECONDS = 600


def measure_one(folder: Path, name: str, workers: int, rounds: int) -> Dict[str, Any]:
    place = folder / f"throughput-{name}-{workers}"
    place.mkdir()
    log = place / "log"
    job = launch(
        [BUILD / "rubato", "train", "--workers", workers, "--patience", LIMIT_SECONDS, "--",
         *program("throughput_program.py", place, name, workers, SEGMENTS_PER_ROUND * rounds,
                  STEPS[name])],
        log,
    )
    finish(job, log, LIMIT_SECONDS)
    found = json.loads((place / "result.json").read_text())
    pairs = list(zip(found["ours"], found["ddp"]))
    rates = {side: found["samples"] / median(s["wall"] for s in found[side])
             for side in ("ours", "ddp")}
    return {
        "ratio": of_rounds([ddp["wall"] / ours["wall"] for ours, ddp in pairs], rounds),
        "cpu_ratio": of_rounds([ddp["cpu"] / ours["cpu"] for ours, ddp in pairs], rounds),
        "samples_per_second": rates,
    }


def measure(folder: Path, rounds: int) -> Dict[str, Dict[int, Dict[str, Any]]]:
    found: Dict[str, Dict[int, Dict[str, Any]]] = {}
    for name in STEPS:
        found[name] = {}
        for workers in WORKERS:
            one = found[name][workers] = measure_one(folder, name, workers, rounds)
            rates = one["samples_per_second"]
            print(f"  throughput {name}, {workers} workers: ours {rates['ours']:.0f}, ddp "
                  f"{rates['ddp']:.0f} samples/s, ratio {one['ratio']['median']:.2f}", flush=True)
    return found
