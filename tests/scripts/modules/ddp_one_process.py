"""Written for DistributedDataParallel, but in one process only: world size 1 over gloo."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def setup():
    if "RANK" not in os.environ:  # Started without torchrun.
        store = dist.HashStore()
        dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    else:
        dist.init_process_group("gloo")


def main():
    setup()
    torch.manual_seed(373)
    x = torch.randn(900, 71)
    y = x[:, :5].argmax(1)
    dataset = TensorDataset(x, y)
    sampler = DistributedSampler(dataset, shuffle=True, seed=1)
    loader = DataLoader(dataset, batch_size=60, sampler=sampler)
    model = nn.Sequential(nn.Linear(71, 330), nn.ReLU(), nn.Linear(330, 330), nn.ReLU(),
                          nn.Linear(330, 5))
    model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(4):
        sampler.set_epoch(epoch)
        for a, b in loader:
            loss = nn.functional.cross_entropy(model(a), b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if dist.get_rank() == 0:
            print("epoch %d loss %.6f" % (epoch, mean.item() / dist.get_world_size()))
    if dist.get_rank() == 0:
        norm = sum(p.norm().item() ** 2 for p in model.parameters()) ** 0.5
        print("FINAL norm %.6f loss %.6f" % (norm, loss.item()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
