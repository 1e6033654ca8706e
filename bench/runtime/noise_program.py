"""Processor time of a step with and without measuring the noise of gradients, in turn.

A process can be a worker of one job only, and a job either measures or does not. So there are two
jobs whose workers do nothing but write down how their conductor is reached, and other processes
join both of them in their place.

Usage: noise_program.py lend FOLDER
       noise_program.py train FOLDER RANK WORKERS STEPS
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Callable, Dict, List

POLL_SECONDS = 0.05
WARM_UP_STEPS = 5
WARM_UP_BATCHES = 2  # The trainer throws them away.


def lend(folder: Path) -> None:
    """Writes down this worker's place, and waits until it is not needed any more."""
    place = {key: value for key, value in os.environ.items() if key.startswith("RUBATO_")}
    written = folder / f"{os.getpid()}.new"
    written.write_text(json.dumps(place))
    written.rename(folder / f"{place['RUBATO_WORKER']}.place")
    while not (folder / "done").exists():
        time.sleep(POLL_SECONDS)


def take_place(folder: Path, rank: int, workers: int) -> None:
    while len(places := sorted(folder.glob("*.place"))) < workers:
        time.sleep(POLL_SECONDS)
    os.environ.update(json.loads(places[rank].read_text()))


def joined(folder: Path, rank: int, workers: int, steps: int) -> Callable[[], None]:
    """Makes this process a worker of the job; returns how it does a step."""
    import rubato
    from torch.utils.data import TensorDataset
    from workloads import workload

    take_place(folder, rank, workers)
    work = workload("cnn")
    batch = work.batch * workers
    trainer = rubato.Trainer(
        work.model, work.optimizer(), TensorDataset(*work.tensors), batch=batch, steps=steps,
        drop_last=True, adaptive_batch=batch if folder.name == "noise" else False,
    )
    batches = iter(trainer)

    def step() -> None:
        following = next(batches, None)
        if following is not None:
            trainer.step(work.loss(*following))

    for _ in range(WARM_UP_BATCHES):
        step()
    return step


def train(folder: Path, rank: int, workers: int, steps: int) -> None:
    names = ["plain", "noise"]
    sides = {name: joined(folder / name, rank, workers, steps) for name in names}
    times: Dict[str, List[float]] = {name: [] for name in names}
    for number in range(steps):
        for name in names if number % 2 == 0 else reversed(names):
            began = time.process_time()
            sides[name]()
            if number >= WARM_UP_STEPS:
                times[name].append(time.process_time() - began)
    for name in names:
        sides[name]()  # All steps are done: this says so.
    (folder / f"{rank}.times").write_text(json.dumps(times))


def main() -> None:
    verb, folder, *numbers = sys.argv[1:]
    if verb == "lend":
        lend(Path(folder))
    else:
        train(Path(folder), *map(int, numbers))


main()
