"""Step times of an unmodified script: plain Python, one worker, two workers, and two workers that
all run the program; in turns, so that whatever else the machine does meets all of them.

A segment counts with its median step, so what happens once in many steps does not count: copies of
the leader (at most 1 % of the run time, most of which is waiting for a turn here), audits, trials.
"""

import json
import os
import select
import time
from pathlib import Path
from statistics import median
from typing import Any, Dict, List

from machine import BUILD, end_sessions, finish, launch, program
from spread import of_rounds

STEPS = {"cnn": 12, "lm": 12, "widedeep": 60}  # Of a segment, about a second.
BATCH = {"cnn": 64, "lm": 32, "widedeep": 512}
WARM_UP_SEGMENTS = 6  # Shared calls are tried out in them.
SEGMENTS_PER_ROUND = 2
LIMIT_SECONDS = 600


class Contender:
    """A program that trains a segment when it is told to."""

    def __init__(self, place: Path, name: str, segments: int, launcher: List[object],
                 script: str = "single_program.py") -> None:
        place.mkdir(parents=True)
        self.place, self.log = place, place / "log"
        for pipe in ("ready", "go"):
            os.mkfifo(place / pipe)
        self.process = launch(
            [*launcher, *program(script, place, name, BATCH[name], segments, STEPS[name])],
            self.log)
        self.ready = os.open(place / "ready", os.O_RDWR)
        self.go = os.open(place / "go", os.O_RDWR)

    def run_segment(self) -> None:
        os.write(self.go, b"g")
        self.wait()

    def wait(self) -> None:
        """For the end of the segment under way. A program that has ended instead is told of."""
        until = time.monotonic() + LIMIT_SECONDS
        while not select.select([self.ready], [], [], 1.0)[0]:
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{self.place.name} ended or hangs:\n{self.log.read_text()}")
        os.read(self.ready, 1)

    def times(self) -> List[float]:
        os.write(self.go, b"g")
        finish(self.process, self.log, LIMIT_SECONDS)
        return json.loads((self.place / "result.json").read_text())


def trained(workers: int) -> List[object]:
    return [BUILD / "rubato", "train", "--workers", workers, "--patience", LIMIT_SECONDS, "--"]


def measure_one(folder: Path, name: str, rounds: int) -> Dict[str, Any]:
    segments = SEGMENTS_PER_ROUND * rounds + WARM_UP_SEGMENTS + 1
    place = folder / f"single-{name}"
    contenders = {
        "plain": Contender(place / "plain", name, segments, []),
        "one": Contender(place / "one", name, segments, trained(1)),
        "two": Contender(place / "two", name, segments, trained(2)),
        "every": Contender(place / "every", name, segments, trained(2),
                           "every_worker_program.py"),
    }
    try:
        for contender in contenders.values():
            contender.wait()
        order = list(contenders.values())
        for number in range(segments - 1):
            for contender in order if number % 2 == 0 else reversed(order):
                contender.run_segment()
        times = {key: contender.times()[WARM_UP_SEGMENTS:-1]
                 for key, contender in contenders.items()}
    finally:
        end_sessions([contender.process for contender in contenders.values()])

    def ratio(peer: str, ours: str) -> Dict[str, float]:
        return of_rounds([p / o for p, o in zip(times[peer], times[ours])], rounds)

    return {
        "ms": {key: 1e3 * median(values) for key, values in times.items()},
        "one_vs_plain": ratio("plain", "one"),
        "vs_plain": ratio("plain", "two"),
        "vs_one": ratio("one", "two"),
        "vs_spmd": ratio("every", "two"),
    }


def measure(folder: Path, rounds: int) -> Dict[str, Dict[str, Any]]:
    found = {}
    for name in STEPS:
        one = found[name] = measure_one(folder, name, rounds)
        times = ", ".join(f"{key} {value:.2f}" for key, value in one["ms"].items())
        print(f"  single {name}: ms a step: {times}", flush=True)
    return found
