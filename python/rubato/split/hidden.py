"""What the first batch and the first parameters hide.

Samples may look at each other through a gate that is zero at the start, or by a choice that all
batches of the first steps make alike, such as `torch.where(x.mean() > 0, a, b)`. So a module that
can be cut as it is must also be one with other parameters, and no sample may notice that another
one has become unlike all others. Runs in a forked child, on private copies.
"""

from typing import Any, Dict, Optional

import torch

from rubato.split.constants import Constants

OTHER_PARAMETERS = 0.5  # Of a parameter's spread, by which it is changed;
SPREAD_OF_EQUALS = 0.2  # if all its numbers are the same.
UNLIKE = 1000.0  # Times the largest number of an argument.
SEED = 11


def with_other_parameters(rehearsal: Any, size: int,
                          dimensions: Dict[int, Optional[int]]) -> Optional[str]:
    """Why the module cannot be cut then. Nothing if its outputs are no numbers any more."""
    data = [(p, p.data) for p in rehearsal.module.parameters() if p.is_floating_point()]
    generator = torch.Generator().manual_seed(SEED)
    try:
        for parameter, values in data:
            spread = (values - values.mean()).abs().mean() if values.numel() else values.sum()
            scale = OTHER_PARAMETERS * (float(spread) or SPREAD_OF_EQUALS)
            noise = torch.randn(values.shape, generator=generator).to(values.device, values.dtype)
            parameter.data = values + scale * noise
        reason: Optional[str] = rehearsal.compare(size, dimensions).reason
        if reason is None:
            return None
        with Constants():
            outputs = rehearsal.run(rehearsal.leaves)[1]
        return reason if all(map(is_finite, outputs)) else None
    finally:
        for parameter, values in data:
            parameter.data = values


def is_finite(value: Any) -> bool:
    return not isinstance(value, torch.Tensor) or bool(value.isfinite().all())


def why_others_notice(rehearsal: Any, size: int, verdict: Any) -> Optional[str]:
    """Whether a change of the last sample changes outputs of the others."""
    by_sample = [(number, kind.dimension) for number, kind in enumerate(verdict.outputs)
                 if kind.kind == "concatenated"]
    try:
        with torch.no_grad(), Constants():
            before = rehearsal.run(rehearsal.leaves)[1]
            for sign in (1.0, -1.0):
                leaves = [leaf if verdict.dimensions.get(i) is None
                          else with_other_sample(leaf, verdict.dimensions[i], size, sign)
                          for i, leaf in enumerate(rehearsal.leaves)]
                after = rehearsal.run(leaves)[1]
                for number, dimension in by_sample:
                    one, other = (values[number].narrow(dimension, 0, size - 1)
                                  for values in (after, before))
                    # Zero times infinity is no number, and no word of one sample to another.
                    if is_finite(one) and is_finite(other) and rehearsal.is_far(one, other):
                        return (f"output {number} of a sample depends on the other samples of "
                                "the batch")
    except Exception:  # Its code may not take such a sample.
        return None
    return None


def with_other_sample(leaf: torch.Tensor, dimension: int, size: int,
                      sign: float) -> torch.Tensor:
    """The last one is very large or very small; of whole numbers, a copy of the first."""
    leaf = leaf.detach().clone().requires_grad_(leaf.requires_grad)
    with torch.no_grad():
        last = leaf.narrow(dimension, size - 1, 1)
        if leaf.is_floating_point() and leaf.numel():
            largest = float(leaf.abs().max())
            last.add_(sign * UNLIKE * (largest + 1.0))
        else:
            last.copy_(leaf.narrow(dimension, 0, 1))
    return leaf
