"""The same training by workers that all run the program, with our trainer; timed likewise.

Usage: every_worker_program.py FOLDER MODEL BATCH SEGMENTS STEPS
"""

import json
import os
import statistics
import sys
import time

import rubato
from torch.utils.data import TensorDataset
from workloads import workload

WARM_UP_BATCHES = 2  # The trainer throws them away.


def main():
    folder, name = sys.argv[1:3]
    batch, segments, steps = map(int, sys.argv[3:])
    work = workload(name)
    trainer = rubato.Trainer(
        work.model, work.optimizer(), TensorDataset(*work.tensors), batch=batch,
        steps=segments * steps + 1, drop_last=True,
    )
    batches = iter(trainer)
    for _ in range(WARM_UP_BATCHES):
        trainer.step(work.loss(*next(batches)))
    trainer.step(work.loss(*next(batches)))
    is_leader = trainer.is_leader
    if is_leader:
        ready = os.open(f"{folder}/ready", os.O_WRONLY)
        go = os.open(f"{folder}/go", os.O_RDONLY)
    result = []
    for _ in range(segments):
        if is_leader:
            os.write(ready, b"r")
            os.read(go, 1)
        times = []
        for _ in range(steps):
            began = time.perf_counter()
            trainer.step(work.loss(*next(batches)))
            times.append(time.perf_counter() - began)
        result.append(statistics.median(times))
    if is_leader:
        with open(f"{folder}/result.json", "w", encoding="utf-8") as file:
            json.dump(result, file)
    next(batches, None)


main()
