"""When each worker began and ended its steps; every program that is compared writes this.

The clock is the kernel's monotonic one, which all processes of a machine share.
"""

import os
import time
from pathlib import Path
from typing import List, NamedTuple


class Step(NamedTuple):
    """One committed step of one worker."""

    began: float
    ended: float
    number: int
    size: int  # Workers that took part.
    generation: int
    process: int


def now() -> float:
    return time.monotonic()


class StampWriter:
    """A file per process, a line per step."""

    def __init__(self, folder: str) -> None:
        self.file = open(Path(folder) / f"{os.getpid()}.stamps", "w", buffering=1)

    def write(self, began: float, number: int, size: int, generation: int) -> None:
        self.file.write(f"{began:.6f} {now():.6f} {number} {size} {generation}\n")


def read_stamps(folder: Path) -> List[Step]:
    """All steps so far, by the time they ended; a line that is being written is left out."""
    steps = []
    for path in folder.glob("*.stamps"):
        for line in path.read_text().split("\n")[:-1]:
            began, ended, number, size, generation = line.split()
            steps.append(
                Step(float(began), float(ended), int(number), int(size), int(generation),
                     int(path.stem))
            )
    return sorted(steps, key=lambda step: step.ended)
