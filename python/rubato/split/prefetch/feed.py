"""How rows of one dataset are read in chunks: what is known about it, and the layout of a batch."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any, Callable, Sequence

import torch
from torch.utils import _pytree as pytree
from torch.utils.data._utils.collate import default_collate

from . import fast_fetch
from .rehearsal import rehearse
from .slots import ALIGNMENT, round_up
from .watched import Watched

# A dataset that changes more often than this is no longer fetched ahead.
CHANGES_MAX = 5


@dataclass(frozen=True)
class Leaf:
    """One tensor of a batch: where it lies in a slot, and the form of a row."""

    offset: int
    dtype: torch.dtype
    row_shape: tuple[int, ...]
    row_numbers: int
    row_bytes: int

    def tensor(self, memory: Any, start: int, rows: slice) -> torch.Tensor:
        """These rows of a batch that begins at `start` in a buffer."""
        count = rows.stop - rows.start
        flat = torch.frombuffer(
            memory,
            dtype=self.dtype,
            count=count * self.row_numbers,
            offset=start + self.offset + rows.start * self.row_bytes,
        )
        # Not view(): the script must not get a view of a tensor that it does not know.
        return flat.resize_(count, *self.row_shape)


class Layout:
    """The form of a full batch."""

    def __init__(self, leaves: list[Leaf], spec: Any, size: int):
        self.leaves = leaves
        self.spec = spec
        self.size = size

    @classmethod
    def of(cls, batch: Any, rows: int) -> Layout | None:
        """None if the batch is not made of plain tensors with one row for each sample."""
        tensors, spec = pytree.tree_flatten(batch)
        leaves, offset = [], 0
        for tensor in tensors:
            if not _is_plain(tensor) or tensor.shape[0] != rows or tensor.numel() == 0:
                return None
            numbers = tensor.numel() // rows
            leaves.append(Leaf(offset, tensor.dtype, tuple(tensor.shape[1:]), numbers,
                               numbers * tensor.element_size()))
            offset = round_up(offset + tensor.numel() * tensor.element_size(), ALIGNMENT)
        return cls(leaves, spec, offset) if leaves else None

    def tensors(self, memory: Any, start: int, rows: slice) -> list[torch.Tensor]:
        return [leaf.tensor(memory, start, rows) for leaf in self.leaves]

    def store(self, batch: Any, targets: list[torch.Tensor]) -> bool:
        """Copies the rows of a chunk; False if they have another form."""
        tensors, spec = pytree.tree_flatten(batch)
        if spec != self.spec or len(tensors) != len(targets):
            return False
        pairs = list(zip(tensors, targets))
        for tensor, target in pairs:
            is_alike = _is_plain(tensor) and tensor.dtype is target.dtype
            if not is_alike or tensor.shape != target.shape:
                return False
        for tensor, target in pairs:
            target.copy_(tensor)
        return True


def _is_plain(tensor: Any) -> bool:
    return (
        type(tensor) is torch.Tensor
        and tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and not tensor.requires_grad
        and not tensor.is_quantized
        and not tensor.is_conj()
        and not tensor.is_neg()
        and tensor.dim() > 0
        and tensor.is_contiguous()
    )


class Feed:
    """One dataset. Processes forked from this one know it by the same number."""

    def __init__(self, number: int, loader_iter: Any, on_death: Callable[[int], None]):
        dataset = loader_iter._dataset
        self.number = number
        # Grows when the dataset changes. Replicas forked before then hold the old one.
        self.version = 1
        self.reason: str | None = None
        self.is_fast = fast_fetch.is_tensor_dataset(dataset)
        # Batches that were delivered.
        self.batches = 0
        # How long the leader takes to read a batch at best, by its rows.
        self.seconds: dict[int, float] = {}
        self.layouts: dict[int, Layout] = {}
        self._changes = 0
        try:
            self._dataset = self._lifetime = weakref.ref(dataset, lambda _: on_death(number))
        except TypeError:
            # A list or a tuple: kept as long as its loader, which keeps the sampler.
            self._dataset = lambda: dataset
            self._lifetime = weakref.ref(loader_iter._index_sampler, lambda _: on_death(number))
        self._watched: Watched | None = None

    def is_of(self, dataset: Any) -> bool:
        return self._dataset() is dataset

    def note_seconds(self, rows: int, seconds: float) -> None:
        self.seconds[rows] = min(seconds, self.seconds.get(rows, seconds))

    def samples(self, indices: Sequence[Any]) -> list[Any]:
        dataset = self._dataset()
        return [dataset[index] for index in indices]

    @staticmethod
    def collate(samples: list[Any]) -> Any:
        return default_collate(samples)

    def read(self, indices: Sequence[Any]) -> Any:
        """These rows as a batch, as the loader would read them."""
        return self.collate(self.samples(indices))

    def read_into(self, indices: Sequence[Any], layout: Layout,
                  targets: list[torch.Tensor]) -> bool:
        """Reads rows to where they belong; False if they have another form."""
        if self.is_fast and fast_fetch.fetch(self._dataset(), indices, targets) is not None:
            return True
        return layout.store(self.read(indices), targets)

    def examine(self, controller: Any, indices: list[Any], batch: Any) -> None:
        """Decides whether rows may be fetched ahead, given a batch that was read plainly."""
        dataset = self._dataset()
        self._watched = watched = Watched(dataset)
        self.reason = watched.reason
        if self.reason is None and hasattr(dataset, "__getitems__"):
            self.reason = "it reads several rows at a time"
        if self.reason is None and not self.is_fast:
            # The code of the fast ones is torch's own.
            verdict = rehearse(controller, self.read, indices, batch, watched)
            self.reason = verdict.reason
            for namespace, names in verdict.names.items():
                watched.add_names(namespace, names, verdict.attributes)
            self.reason = self.reason or watched.reason
        watched.seal()

    @property
    def is_examined(self) -> bool:
        return self._watched is not None

    def has_changed(self) -> bool:
        return self._watched is None or self._watched.has_changed()

    def renew(self, controller: Any, indices: list[Any], batch: Any) -> None:
        """After a change: looks at the dataset anew, unless it changes all the time."""
        self.version += 1
        self._changes += 1
        if self._changes > CHANGES_MAX:
            self.reason = "it keeps changing"
        else:
            self.examine(controller, indices, batch)
