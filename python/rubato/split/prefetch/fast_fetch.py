"""Rows of a `TensorDataset` by one `index_select` per tensor instead of one by one.

Only for torch's own dataset and collate function, whose result is known: the rows stacked, with the
same values, dtype and strides. Anything unusual is left to torch's own way.
"""

from __future__ import annotations

from typing import Any, Sequence

import torch
from torch.utils.data import Subset, TensorDataset
from torch.utils.data._utils import collate as torch_collate

_GET_TENSOR_ROW = TensorDataset.__getitem__
_GET_SUBSET_ROW = Subset.__getitem__
_COLLATE = torch_collate.default_collate
_COLLATE_MAP = dict(torch_collate.default_collate_fn_map)


def is_default_collate(collate_fn: Any) -> bool:
    """True for torch's own collate function, as long as nobody has taught it other types."""
    return collate_fn is _COLLATE and torch_collate.default_collate_fn_map == _COLLATE_MAP


def is_tensor_dataset(dataset: Any) -> bool:
    """True for torch's own `TensorDataset`, and its own `Subset` of one."""
    if TensorDataset.__getitem__ is not _GET_TENSOR_ROW:
        return False
    if Subset.__getitem__ is not _GET_SUBSET_ROW:
        return False
    while type(dataset) is Subset:
        dataset = dataset.dataset
    return type(dataset) is TensorDataset and "__getitems__" not in vars(dataset)


def _rows(dataset: Any, indices: Sequence[Any]) -> tuple[Any, Sequence[Any]] | None:
    """The `TensorDataset` at the bottom, and the rows there."""
    while type(dataset) is Subset:
        table = dataset.indices
        if type(table) not in (list, tuple, range):
            return None
        try:
            indices = [table[index] for index in indices]
        except (IndexError, TypeError):
            return None
        dataset = dataset.dataset
    # Other kinds of numbers index a tensor in other ways: True is a mask.
    is_plain = indices and all(type(index) is int for index in indices)
    return (dataset, indices) if is_plain else None


def _is_plain(tensor: Any) -> bool:
    return (
        type(tensor) is torch.Tensor
        and tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and not tensor.requires_grad
        and tensor.is_contiguous()
        and not tensor.is_quantized
        and not tensor.is_conj()
        and not tensor.is_neg()
        and tensor.dim() > 0
    )


def fetch(
    dataset: Any, indices: Sequence[Any], out: list[torch.Tensor] | None = None
) -> list[torch.Tensor] | None:
    """The batch that torch would make of these rows, or None if it must be asked.

    With `out` the rows are written there. The caller has checked `is_tensor_dataset`.
    """
    found = _rows(dataset, indices)
    if found is None:
        return None
    tensors = found[0].tensors
    if not tensors or not all(map(_is_plain, tensors)):
        return None
    rows = torch.tensor(found[1], dtype=torch.int64)
    try:
        # Memory, strides and dtype are those of stacked rows.
        if out is None:
            return [torch.index_select(tensor, 0, rows) for tensor in tensors]
        if len(out) != len(tensors):
            return None
        for tensor, target in zip(tensors, out):
            if target.dtype is not tensor.dtype or target.shape[1:] != tensor.shape[1:]:
                return None
            torch.index_select(tensor, 0, rows, out=target)
        return out
    except (IndexError, RuntimeError):
        # A negative or impossible index: torch's own way counts from the end or says what is wrong.
        return None
