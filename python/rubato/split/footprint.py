"""What a call takes of memory, by the rows of its batch; measured in a forked child.

A few rows, and twice as many, are taken forward and backward. What resident memory grows by at
most, beyond what free memory was given back before, is a line over the rows.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import torch
from torch import nn
from torch.utils._pytree import TreeSpec

from rubato.split import child, effects
from rubato.split.memory_limits import (give_back_free_memory, is_out_of_memory, peak_resident,
                                        prefer_space_to_speed, reset_peak, usage)
from rubato.split.part import Settings, gradients_by_backward, gradients_of
from rubato.split.rehearsal import Rehearsal

SAMPLE = 8  # One of so many rows is taken, then twice as many.
SHRINK = 4  # By so much fewer if those do not fit either.


class Footprint(NamedTuple):
    """Bytes."""

    dimensions: Dict[int, Optional[int]]  # By argument: where its rows are.
    fixed: int  # Whatever the number of rows: gradients of parameters among others.
    per_row: int
    of_outputs: int  # Of a row.

    def rows(self, leaves: Sequence[Any]) -> int:
        """Zero if the arguments do not agree about it."""
        sizes = {leaves[i].shape[d] for i, d in self.dimensions.items() if d is not None
                 and isinstance(leaves[i], torch.Tensor) and d < leaves[i].dim()}
        return sizes.pop() if len(sizes) == 1 else 0


def rows_of(leaves: Sequence[Any], dimensions: Dict[int, Optional[int]],
            rows: int) -> List[Any]:
    """The first rows of all arguments that have rows."""
    return [leaf if dimensions.get(i) is None else leaf.narrow(dimensions[i], 0, rows)
            for i, leaf in enumerate(leaves)]


class Sample:
    """Some rows of a call; lives in the child."""

    def __init__(self, rehearsal: Rehearsal, dimensions: Dict[int, Optional[int]]) -> None:
        self.rehearsal, self.dimensions = rehearsal, dimensions
        self.of_outputs = 0

    def run(self, rows: int) -> None:
        """Forward, and backward if the call has one."""
        rehearsal = self.rehearsal
        own, outputs, _ = rehearsal.run(rows_of(rehearsal.leaves, self.dimensions, rows))
        tensors = [output for output in outputs if isinstance(output, torch.Tensor)]
        self.of_outputs = sum(t.numel() * t.element_size() for t in tensors) // rows
        if not rehearsal.settings.grad:
            return
        wanted = [own[i] for i in rehearsal.tensors if own[i].requires_grad]
        gradients = [torch.ones_like(t) if t.requires_grad else None for t in tensors]
        try:
            gradients_of(tensors, gradients, wanted + rehearsal.parameters)
        except RuntimeError as error:
            if "heckpoint" not in str(error):
                raise
            gradients_by_backward(tensors, gradients, wanted + rehearsal.parameters)

    def peak(self, rows: int) -> int:
        give_back_free_memory()
        reset_peak()
        before = usage().resident
        self.run(rows)
        return max(0, peak_resident() - before)


def line_through(sample: Sample, rows: int, few: int, many: int) -> Footprint:
    """The steeper of two: through both peaks, and as if nothing but the gradients of parameters
    were the same for all numbers of rows. Few rows say little, and too steep is safe."""
    gradients = sum(p.numel() * p.element_size() for p in sample.rehearsal.parameters)
    fixed = min(many, gradients if sample.rehearsal.settings.grad else 0)
    per_row = max((many - few) // rows, (many - fixed) // (2 * rows))
    return Footprint(sample.dimensions, max(0, many - 2 * rows * per_row), per_row,
                     sample.of_outputs)


def measured_here(rehearsal: Rehearsal) -> Optional[Footprint]:
    """Nothing if there is no way to compute some rows alone."""
    for size, dimensions in rehearsal.cuts():
        rows = max(1, size // SAMPLE)
        sample = Sample(rehearsal, dimensions)
        while True:
            try:
                sample.run(rows)  # What is made once only is no cost of a row.
                few, many = sample.peak(rows), sample.peak(2 * rows)
            except Exception as error:  # The script's code may raise anything.
                if rows > 1 and is_out_of_memory(error):
                    rows = max(1, rows // SHRINK)
                    continue
                break
            return line_through(sample, rows, few, many)
    return None


def measure(controller: Any, module: nn.Module, spec: TreeSpec, leaves: Sequence[Any],
            settings: Settings) -> Optional[Footprint]:
    """Of one kind of call. The script notices nothing of it."""
    def tried() -> Optional[Footprint]:
        controller.become_replica()
        rehearsal = Rehearsal(controller, module, spec, leaves, settings)
        if rehearsal.why_hopeless() is not None:
            return None
        effects.make_private(module)
        prefer_space_to_speed()
        return measured_here(rehearsal)

    found = child.run_in_child(tried)
    return None if isinstance(found, Exception) else found
