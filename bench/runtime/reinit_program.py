"""The strongest peer: processes stay, and the process group is made anew for a newcomer that is
warmed up and waiting. This is what elastic frameworks do that keep their processes.

All know beforehand after which step the group grows, so nobody has to agree on that.

Usage: reinit_program.py FOLDER RANK PORT GROW_AT STEPS
"""

import sys
from typing import List

import torch
import torch.distributed as dist
from stamps import StampWriter, now
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from torch.nn.parallel import DistributedDataParallel
from workloads import Workload, workload

OLD_SIZE = 2


def share_momentum(work: Workload, optimizer: torch.optim.Optimizer) -> None:
    """Parameters are handed over by DDP, the optimizer's state by us."""
    parameters = list(work.model.parameters())
    for parameter in parameters:
        optimizer.state[parameter].setdefault("momentum_buffer", torch.zeros_like(parameter))
    buffers: List[torch.Tensor] = [optimizer.state[p]["momentum_buffer"] for p in parameters]
    flat = _flatten_dense_tensors(buffers)
    dist.broadcast(flat, 0)
    for buffer, part in zip(buffers, _unflatten_dense_tensors(flat, buffers)):
        buffer.copy_(part)


def main() -> None:
    rank, port, grow_at, steps = map(int, sys.argv[2:])
    work = workload("cnn")
    optimizer = work.optimizer()
    stamps = StampWriter(sys.argv[1])
    batch = [tensor[: work.batch] for tensor in work.tensors]
    work.loss(*batch).backward()  # Libraries choose and allocate what they need.
    store = dist.TCPStore("127.0.0.1", port, is_master=rank == 0, wait_for_workers=False)

    def enter(generation: int, size: int) -> DistributedDataParallel:
        prefixed = dist.PrefixStore(str(generation), store)
        dist.init_process_group("gloo", store=prefixed, rank=rank, world_size=size)
        return DistributedDataParallel(work.model)

    store.set(f"ready {rank}", "")
    store.wait([f"ready {other}" for other in range(OLD_SIZE + 1)])
    first, model = 0, None
    if rank < OLD_SIZE:
        model = enter(0, OLD_SIZE)
    else:
        first = grow_at
    for number in range(first, steps):
        if number == grow_at:
            if model is not None:
                del model
                dist.destroy_process_group()
            model = enter(1, OLD_SIZE + 1)
            share_momentum(work, optimizer)
        at = torch.arange(number, number + work.batch) % len(work.tensors[0])
        batch = [tensor[at] for tensor in work.tensors]
        began = now()
        optimizer.zero_grad()
        work.loss(*batch, model=model).backward()
        optimizer.step()
        stamps.write(began, number + 1, dist.get_world_size(), int(number >= grow_at))
    dist.barrier()


main()
