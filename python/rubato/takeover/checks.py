"""What cannot be taken over. Better to refuse than to train something else than was meant."""

from typing import Any, Optional, Sequence

import torch
from torch.utils.data import BatchSampler, IterableDataset, RandomSampler, SequentialSampler

ACCUMULATION = (
    "a second batch was drawn without optimizer.step() after the first: gradient accumulation "
    "cannot be taken over; use a larger batch, which Rubato shares among the workers"
)
SEVERAL_OPTIMIZERS = "several optimizers take steps; scripts with one optimizer can be taken over"
CLOSURE = (
    "optimizer.step(closure) computes gradients several times in a step (LBFGS does), which "
    "cannot be shared among workers"
)
NO_LOADER = (
    "optimizer.step() was not preceded by a batch of a DataLoader: Rubato shares batches, and "
    "does not see where this script gets them from"
)
TWICE = "optimizer.step() was called twice for one batch"
LEFT_EARLY = (
    "the training loop was left before the end of its epoch and then entered again: "
    "Rubato's epochs use every sample once"
)
OWN_DISTRIBUTED = (
    "the script initialises torch.distributed itself; run it with its own launcher, or write it "
    "for one device and let Rubato share the work"
)
OWN_CHECKPOINT = (
    "the script loads {}, which was written during this job: a worker that joins later would "
    "start at another epoch than it is told. Rubato keeps the state itself; leave that part out"
)
CHANGED_PARAMETERS = "the optimizer's parameters have changed since the first step"
SET_BACK = "the job was set back to epoch {} while this worker caught up with epoch {}"


def against_loader(loader: Any) -> Optional[str]:
    """Why a loader cannot be the training loader."""
    if isinstance(loader.dataset, IterableDataset):
        return "the training data is an IterableDataset: its samples have no number to share by"
    if not hasattr(loader.dataset, "__len__"):
        return "the training dataset has no length"
    if loader.batch_size is None or type(loader.batch_sampler) is not BatchSampler:
        return "the training loader has a batch_sampler of its own; use batch_size and shuffle"
    sampler = loader.sampler
    if type(sampler) is SequentialSampler:
        return None
    if type(sampler) is not RandomSampler:
        return (
            f"the training loader draws with {type(sampler).__name__}; only shuffle=True and "
            "shuffle=False can be taken over"
        )
    if sampler.replacement or len(sampler) != len(loader.dataset):
        return "the training loader draws with replacement, or not every sample"
    return None


def first_batch(loader: Any) -> int:
    """How many samples are in the first batch of a loader that can be taken over."""
    if against_loader(loader) is not None:
        return 0
    return min(loader.batch_size, len(loader.dataset))


def against_gradients(parameters: Sequence[torch.Tensor]) -> Optional[str]:
    for parameter in parameters:
        if parameter.grad is not None and parameter.grad.layout != torch.strided:
            return "gradients are sparse: only dense gradients can be averaged"
    return None
