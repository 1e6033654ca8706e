"""A script in double precision, where rounding cannot explain a difference.

Rounding is sometimes amplified more than other runs in single precision show: a gradient that
would be zero but for rounding moves a parameter by a whole step of Adam, and gradients in 16 bits
are rounded once more for each part. So before a shared run is called different, the script is run
in double precision, plainly and shared. There a wrong result stays what it was, and rounding is a
billion times smaller.
"""

from typing import Any, Iterable

import torch

# Beyond this share of all that a module has moved by, the script's own precision must agree: some
# of our code is only run in single precision.
SHARE_MAX = 0.05


def in_double(value: Any) -> Any:
    """Arguments of a call, with tensors of single precision converted."""
    if isinstance(value, torch.Tensor):
        return value.double() if value.dtype == torch.float32 else value
    if type(value) in (list, tuple):
        return type(value)(in_double(item) for item in value)
    if type(value) is dict:
        return {key: in_double(item) for key, item in value.items()}
    return value


def is_double(parameters: Iterable[torch.Tensor]) -> bool:
    """Whether all that is trained is in double precision."""
    types = {parameter.dtype for parameter in parameters if parameter.is_floating_point()}
    return types == {torch.float64}
