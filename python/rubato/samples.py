"""Fetches the samples of a shard, as a data loader without processes of its own would."""

from typing import Any, Callable, Optional, Sequence

import torch
from torch.utils.data import TensorDataset
from torch.utils.data._utils.collate import default_collate

from rubato import _core


class Samples:
    """A dataset, and the order in which its samples are used."""

    def __init__(
        self,
        dataset: Any,
        *,
        seed: int,
        is_shuffled: bool,
        collate_fn: Optional[Callable[[Sequence[Any]], Any]] = None,
    ) -> None:
        self.dataset = dataset
        self.collate_fn = collate_fn or default_collate
        self.order = _core.SampleOrder(len(dataset), seed, is_shuffled)
        # Indexing whole tensors gives the same bits as stacking their rows.
        self.is_indexed = type(dataset) is TensorDataset and self.collate_fn is default_collate

    def batch(self, epoch: int, begin: int, end: int) -> Any:
        """The samples at positions `begin` to `end` of an epoch, collated."""
        return self.collated(self.order.samples(epoch, begin, end))

    def collated(self, samples: Sequence[int]) -> Any:
        if self.is_indexed:
            numbers = torch.tensor(samples)
            return [tensor.index_select(0, numbers) for tensor in self.dataset.tensors]
        if hasattr(self.dataset, "__getitems__"):
            return self.collate_fn(self.dataset.__getitems__(list(samples)))
        return self.collate_fn([self.dataset[sample] for sample in samples])
