"""Mean losses inside a model that is called part by part.

A model that computes its own loss returns a mean over the batch. The mean of a part is not a part
of that mean, and weighing parts by samples is wrong as soon as some targets do not count. So while
a part is computed, torch's own losses with `reduction="mean"` divide the part's sum by the number
(or weight) of what counts in all parts, which the parts tell each other. The losses of the parts
then add up to that of the batch, and so do their gradients.
"""

import functools
from typing import Any, Callable, Dict, NamedTuple, Optional

import torch
import torch.nn.functional as functional


class Loss(NamedTuple):
    """A loss of torch: the names of its arguments in order, and what its mean divides by."""

    names: tuple
    count: Callable[[Dict[str, Any]], torch.Tensor]


def count_elements(given: Dict[str, Any]) -> torch.Tensor:
    """Of what input and target are together."""
    shape = torch.broadcast_shapes(given["input"].shape, given["target"].shape)
    total = 1
    for size in shape:
        total *= size
    return torch.tensor([float(total)], dtype=torch.float64)


def count_classes(given: Dict[str, Any]) -> torch.Tensor:
    """Targets that are not ignored, by the weight of their class."""
    target, weight = given["target"], given.get("weight")
    if target.is_floating_point():  # Probabilities: the mean is over samples.
        samples = target.numel() // target.shape[1] if target.dim() > 1 else 1
        return torch.tensor([float(samples)], dtype=torch.float64)
    counted = target != given.get("ignore_index", -100)
    if weight is None:
        return counted.sum().double().reshape(1)
    return weight.detach()[target[counted]].double().sum().reshape(1)


ELEMENTS = ("input", "target", "size_average", "reduce", "reduction")
WEIGHTED = ("input", "target", "weight", "size_average", "reduce", "reduction")
CLASSES = ("input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction")

ORIGINALS: Dict[str, Callable[..., torch.Tensor]] = {}  # As torch has them.
LOSSES: Dict[str, Loss] = {
    "cross_entropy": Loss((*CLASSES, "label_smoothing"), count_classes),
    "nll_loss": Loss(CLASSES, count_classes),
    "mse_loss": Loss(ELEMENTS, count_elements),
    "l1_loss": Loss(ELEMENTS, count_elements),
    "smooth_l1_loss": Loss((*ELEMENTS, "beta"), count_elements),
    "binary_cross_entropy": Loss(WEIGHTED, count_elements),
    "binary_cross_entropy_with_logits": Loss((*WEIGHTED, "pos_weight"), count_elements),
}


def install(controller: Any) -> None:
    for name, loss in LOSSES.items():
        replace(controller, name, loss)


def replace(controller: Any, name: str, loss: Loss) -> None:
    original = ORIGINALS[name] = getattr(functional, name)

    @functools.wraps(original)
    def shared(*args: Any, **kwargs: Any) -> torch.Tensor:
        part = controller.part
        if part is None and not controller.outstanding:
            return original(*args, **kwargs)
        given = {**dict(zip(loss.names, args)), **kwargs}
        if part is None:
            value = controller.loss_on_parts(name, given)
            return original(*args, **kwargs) if value is None else value
        if not is_mean(given):
            return original(*args, **kwargs)
        total = part.exchange(loss.count(given)).sum()
        arguments = {**given, "reduction": "sum"}
        result = original(**arguments)
        return result / total.to(result.dtype)

    # `torch.jit.script` compiles the original in its place.
    setattr(shared, "__script_if_tracing_wrapper", True)
    setattr(shared, "__original_fn", original)
    setattr(functional, name, shared)


def is_mean(given: Dict[str, Any]) -> bool:
    """Old arguments say it in another way; those are left alone."""
    if given.get("size_average") is not None or given.get("reduce") is not None:
        return False
    reduction: Optional[str] = given.get("reduction", "mean")
    return reduction == "mean" and isinstance(given.get("target"), torch.Tensor)
