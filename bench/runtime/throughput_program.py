"""One worker that trains two copies of a model in turn: one with ours, one with DDP over gloo.

Both run in the same processes, a few steps each, so that whatever else the machine does meets both.
Runs under `rubato train`; its first line of results goes to FOLDER/result.json.

Usage: throughput_program.py FOLDER MODEL WORKERS SEGMENTS STEPS
"""

import json
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

import rubato
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import TensorDataset
from workloads import workload

WARM_UP_SEGMENTS = 2
WARM_UP_BATCHES = 2  # The trainer throws them away.


class Ours:
    """Steps of the trainer, pulled one at a time."""

    def __init__(self, name: str, workers: int, steps: int) -> None:
        self.work = workload(name)
        self.trainer = rubato.Trainer(
            self.work.model, self.work.optimizer(), TensorDataset(*self.work.tensors),
            batch=self.work.batch * workers, steps=steps, drop_last=True,
        )
        self.batches = iter(self.trainer)
        for _ in range(WARM_UP_BATCHES):
            self.step()

    def step(self) -> None:
        self.trainer.step(self.work.loss(*next(self.batches)))

    def finish(self) -> None:
        next(self.batches, None)


class Peer:
    """Steps of DDP, on samples drawn as cheaply as can be."""

    def __init__(self, name: str, folder: str, workers: int) -> None:
        self.work = workload(name)
        self.optimizer = self.work.optimizer()
        store = dist.FileStore(f"{folder}/store", workers)
        self.rank = store.add("ranks", 1) - 1
        self.workers = workers
        dist.init_process_group("gloo", store=store, rank=self.rank, world_size=workers)
        self.model = DistributedDataParallel(self.work.model)
        order = torch.randperm(len(self.work.tensors[0]))
        self.parts = order.split(self.work.batch)
        self.number = 0

    def step(self) -> None:
        at = self.parts[(self.number * self.workers + self.rank) % len(self.parts)]
        self.number += 1
        batch = [tensor[at] for tensor in self.work.tensors]
        self.optimizer.zero_grad()
        self.work.loss(*batch, model=self.model).backward()
        self.optimizer.step()


def slowest(seconds: float) -> float:
    times = torch.tensor([seconds], dtype=torch.float64)
    dist.all_reduce(times, dist.ReduceOp.MAX)
    return float(times)


def segment(step: Callable[[], None], steps: int) -> Dict[str, float]:
    """Seconds per step of the slowest worker, by the clock and of processor time."""
    dist.barrier()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(steps):
        step()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"wall": slowest(wall) / steps, "cpu": slowest(cpu) / steps}


def main() -> None:
    folder, name = sys.argv[1:3]
    workers, segments, steps = map(int, sys.argv[3:])
    ours = Ours(name, workers, (segments + WARM_UP_SEGMENTS) * steps)
    peer = Peer(name, folder, workers)
    sides: List[Any] = [("ours", ours.step), ("ddp", peer.step)]
    result: Dict[str, List[Any]] = {"ours": [], "ddp": []}
    for number in range(segments + WARM_UP_SEGMENTS):
        for side, step in sides if number % 2 == 0 else reversed(sides):
            measured = segment(step, steps)
            if number >= WARM_UP_SEGMENTS:
                result[side].append(measured)
    if peer.rank == 0:
        samples = workers * ours.work.batch
        Path(folder, "result.json").write_text(json.dumps({"samples": samples, **result}))
    ours.finish()


main()
