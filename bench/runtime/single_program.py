"""An ordinary training script, timed in segments that whoever measures lets begin one by one.

Usage: single_program.py FOLDER MODEL BATCH SEGMENTS STEPS

It imports nothing of ours. Before each segment it writes a line to FOLDER/ready and waits for a
byte from FOLDER/go; the median seconds of a step go to FOLDER/result.json, by segment.
"""

import json
import os
import statistics
import sys
import time

from torch.utils.data import DataLoader, TensorDataset
from workloads import workload


def cycle(loader):
    while True:
        yield from loader


def main():
    folder, name = sys.argv[1:3]
    batch, segments, steps = map(int, sys.argv[3:])
    work = workload(name)
    optimizer = work.optimizer()
    batches = cycle(DataLoader(TensorDataset(*work.tensors), batch, shuffle=True, drop_last=True))
    ready = os.open(f"{folder}/ready", os.O_WRONLY)
    go = os.open(f"{folder}/go", os.O_RDONLY)
    result = []
    for _ in range(segments):
        os.write(ready, b"r")
        os.read(go, 1)
        times = []
        for _ in range(steps):
            began = time.perf_counter()
            loss = work.loss(*next(batches))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            times.append(time.perf_counter() - began)
        result.append(statistics.median(times))
    with open(f"{folder}/result.json", "w", encoding="utf-8") as file:
        json.dump(result, file)


main()
