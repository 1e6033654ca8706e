"""Processor time of a step in a bare loop and of the same step with our trainer, in turn; one
worker, no conductor.

Usage: overhead_program.py FILE MODEL STEPS
"""

import json
import sys
import time
from pathlib import Path
from typing import Callable, Dict, List

import rubato
import torch
from torch.utils.data import TensorDataset
from workloads import Workload, workload

WARM_UP_STEPS = 5


def bare_loop(work: Workload) -> Callable[[], None]:
    """Draws samples as a loop over a `TensorDataset` would, but without a loader's cost."""
    optimizer = work.optimizer()
    parts = torch.randperm(len(work.tensors[0])).split(work.batch)
    number = 0

    def step() -> None:
        nonlocal number
        at = parts[number % len(parts)]
        number += 1
        optimizer.zero_grad()
        work.loss(*[tensor[at] for tensor in work.tensors]).backward()
        optimizer.step()

    return step


def trained(work: Workload) -> Callable[[], None]:
    trainer = rubato.Trainer(
        work.model, work.optimizer(), TensorDataset(*work.tensors), batch=work.batch, steps=10**6,
        drop_last=True,
    )
    batches = iter(trainer)
    return lambda: trainer.step(work.loss(*next(batches)))


def main() -> None:
    target, name, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    sides = {
        "bare": bare_loop(workload(name)),
        "ours": trained(workload(name)),
    }
    times: Dict[str, List[float]] = {side: [] for side in sides}
    names = list(sides)
    for number in range(steps + WARM_UP_STEPS):
        for side in names if number % 2 == 0 else reversed(names):
            began = time.process_time()
            sides[side]()
            if number >= WARM_UP_STEPS:
                times[side].append(time.process_time() - began)
    Path(target).write_text(json.dumps(times))


main()
