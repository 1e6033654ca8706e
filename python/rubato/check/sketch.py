"""Tensors, small enough to keep for every step: distances between sketches are those between
tensors, up to a few percent."""

from typing import Any, Dict, List

import torch

WIDTH = 1024  # Numbers of a sketch; smaller tensors are kept whole.
CHUNK_ROWS = 4096  # Of WIDTH numbers, made double precision at a time.

_signs: Dict[int, torch.Tensor] = {}


def signs(rows: int) -> torch.Tensor:
    """The same in every process."""
    if rows not in _signs:
        numbers = torch.arange(rows, dtype=torch.int64)
        mixed = (numbers * 0x9E3779B97F4A7C1 + 0x7F4A7C15) ^ (numbers >> 3)
        mixed = (mixed * 0x2545F4914F6CDD1) >> 33
        _signs[rows] = ((mixed & 1) * 2 - 1).double()
    return _signs[rows]


def sketch(tensor: torch.Tensor) -> List[float]:
    """Rows of WIDTH numbers are added up with signs."""
    flat = tensor.detach().reshape(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    if flat.numel() <= WIDTH:
        return flat.double().tolist()
    rows = flat.numel() // WIDTH
    body = flat[:rows * WIDTH].view(rows, WIDTH)
    total = torch.zeros(WIDTH, dtype=torch.float64)
    factors = signs(rows)
    for begin in range(0, rows, CHUNK_ROWS):
        part = body[begin:begin + CHUNK_ROWS].double()
        total += (factors[begin:begin + len(part), None] * part).sum(0)
    rest = flat[rows * WIDTH:].double()
    total[:len(rest)] -= rest
    return total.tolist()


def is_sketchable(value: Any) -> bool:
    return (isinstance(value, torch.Tensor) and not torch.nn.parameter.is_lazy(value)
            and value.layout == torch.strided
            and value.device.type != "meta" and value.numel() > 0
            and (value.is_floating_point() or value.is_complex()))
