"""Which batches may be asked for before their time.

A sampler is asked early only if the script cannot notice: no generator that the script can see may
move, and what the sampler reads late (the indices of a subset) is read again in time. In torch 1.13
`RandomSampler` without a generator draws one seed from the default generator at the first sample
and then draws from a generator of its own; `SubsetRandomSampler` and `WeightedRandomSampler` draw
everything at the first sample.
"""

from __future__ import annotations

import sys
from typing import Any

from torch.utils.data import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)


def is_known(batch_sampler: Any) -> bool:
    """True if some batch of this sampler may be asked for early."""
    if type(batch_sampler) is not BatchSampler:
        return False
    sampler = batch_sampler.sampler
    kind = type(sampler)
    if kind is RandomSampler:
        return not sampler.replacement or sampler.generator is None
    if kind is SubsetRandomSampler:
        return type(sampler.indices) in (list, tuple, range)
    return kind in (SequentialSampler, WeightedRandomSampler)


def samples_limit(batch_sampler: BatchSampler) -> int:
    """The samples of an iteration, counted from its first, that may be asked for early.

    Every draw that the script can see has happened when the first sample was there, up to here.
    """
    sampler = batch_sampler.sampler
    if type(sampler) is RandomSampler and sampler.generator is not None:
        # The next permutation, even one that nothing is taken from, is drawn by the script's own
        # generator when the sample after this limit is asked for.
        return min(len(sampler.data_source), sampler.num_samples)
    return len(sampler)


class Ahead:
    """Indices that were asked for early. `current()` gives what they are when they are due."""

    def __init__(self, loader_iter: Any):
        sampler = loader_iter._index_sampler.sampler
        self._subset: SubsetRandomSampler | None = None
        if type(sampler) is SubsetRandomSampler:
            # The sampler looks its indices up one by one. It is asked for positions instead, so
            # that a change of the indices in the meantime counts as it does without us.
            indices = sampler.indices
            sampler.indices = range(sys.maxsize)
            try:
                self._numbers: list[int] = loader_iter._next_index()
            finally:
                sampler.indices = indices
            self._subset = sampler
        else:
            self._numbers = loader_iter._next_index()
        self.indices = self.current()

    def current(self) -> list[Any]:
        """The indices as a sampler asked now would give them."""
        if self._subset is None:
            return self._numbers
        indices = self._subset.indices
        return [indices[position] for position in self._numbers]
