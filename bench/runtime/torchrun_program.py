"""Trains with DDP under torchrun, with a checkpoint every ten steps, as its manual advises.

Usage: torchrun_program.py FOLDER
"""

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from stamps import StampWriter, now
from torch.nn.parallel import DistributedDataParallel
from workloads import workload

CHECKPOINT_STEPS = 10


def main() -> None:
    folder = Path(sys.argv[1])
    checkpoint = folder / "checkpoint.pt"
    stamps = StampWriter(str(folder))
    work = workload("cnn")
    optimizer = work.optimizer()
    number = 0
    if checkpoint.exists():
        state = torch.load(checkpoint)
        work.model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        number = state["number"]
    dist.init_process_group("gloo")
    model = DistributedDataParallel(work.model)
    rank, size = dist.get_rank(), dist.get_world_size()
    while True:
        at = torch.arange(number, number + work.batch) % len(work.tensors[0])
        batch = [tensor[at] for tensor in work.tensors]
        began = now()
        optimizer.zero_grad()
        work.loss(*batch, model=model).backward()
        optimizer.step()
        number += 1
        stamps.write(began, number, size, 0)
        if rank == 0 and number % CHECKPOINT_STEPS == 0:
            state = {
                "model": work.model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "number": number,
            }
            torch.save(state, folder / "checkpoint.new")
            os.replace(folder / "checkpoint.new", checkpoint)


main()
