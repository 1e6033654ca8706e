"""Batch normalisation over all parts of a shared call, so that the result is that of one process.

Forward exchanges count, mean and sum of squared deviations of every channel, backward two sums.
Running statistics are updated once, by the leader, when the whole forward has succeeded.
"""

import functools
from typing import Any, List, Optional, Tuple

import torch
import torch.nn.functional as F  # noqa: F401  For the text that is compiled, see `install`.
from torch import nn

BatchNorm = nn.modules.batchnorm._BatchNorm


def dimensions_of(tensor: torch.Tensor) -> List[int]:
    """All but the channels'."""
    return [0, *range(2, tensor.dim())]


def per_channel(vector: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return vector.view([1, -1] + [1] * (like.dim() - 2))


def moments(tensor: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """Mean and sum of squared deviations by channel; `torch.var_mean` is far slower on images."""
    dimensions = dimensions_of(tensor)
    mean = tensor.mean(dimensions)
    deviation = tensor - per_channel(mean, tensor)
    return mean, (deviation * deviation).sum(dimensions)


class SynchronisedNorm(torch.autograd.Function):
    """Normalises by the statistics of all parts."""

    @staticmethod
    def forward(ctx: Any, controller: Any, inputs: torch.Tensor, weight: Optional[torch.Tensor],
                bias: Optional[torch.Tensor], eps: float) -> Any:
        part = controller.part
        count = inputs.numel() // inputs.shape[1]
        values = inputs if inputs.dtype == torch.float64 else inputs.float()
        mean, squares = moments(values)
        own = torch.cat([mean.new_tensor([float(count)]), mean, squares])
        gathered = part.exchange(own)
        channels = inputs.shape[1]
        counts = gathered[:, :1]
        total = counts.sum()
        means = gathered[:, 1:1 + channels]
        mean = (means * counts).sum(0) / total
        between = counts * (means - mean) ** 2
        variance = (gathered[:, 1 + channels:] + between).sum(0) / total
        ctx.save_for_backward(inputs, weight, mean, variance)
        ctx.controller, ctx.part, ctx.eps, ctx.total = controller, part, eps, total
        ctx.mark_non_differentiable(mean, variance)
        result = torch.batch_norm(inputs, weight, bias, mean, variance, False, 0.0, eps, False)
        return result, mean, variance, total

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor, *_: Any) -> Any:
        inputs, weight, mean, variance = ctx.saved_tensors
        channels = inputs.shape[1]
        # As with fixed statistics; what flows through the statistics is taken off below.
        of_inputs, of_weight, of_bias = torch.ops.aten.native_batch_norm_backward(
            gradient.contiguous(), inputs, weight, mean, variance, None, None, False, ctx.eps,
            [True, True, True])
        # Backward has turns of its own; a graph of the whole batch has nobody to tell.
        part = ctx.controller.part or ctx.part
        sums = part.exchange(torch.cat([of_weight, of_bias]).to(mean.dtype)).sum(0)
        inverse = (variance + ctx.eps).rsqrt()
        scale = inverse if weight is None else inverse * weight
        slope = scale * sums[:channels] * inverse / ctx.total
        offset = scale * sums[channels:] / ctx.total - slope * mean
        correction = torch.addcmul(per_channel(offset, inputs), inputs, per_channel(slope, inputs))
        of_inputs.sub_(correction)
        if weight is None:
            return None, of_inputs, None, None, None
        return None, of_inputs, of_weight, of_bias, None


class StatisticsUpdate:
    """Of the running statistics of one layer, to be made when the forward has succeeded."""

    def __init__(self, layer: Any, mean: torch.Tensor, variance: torch.Tensor,
                 total: torch.Tensor) -> None:
        self.layer, self.mean, self.variance, self.total = layer, mean, variance, total

    @torch.no_grad()
    def apply(self) -> None:
        layer = self.layer
        layer.num_batches_tracked.add_(1)
        factor = layer.momentum
        if factor is None:
            factor = 1.0 / float(layer.num_batches_tracked)
        unbiased = self.variance * (self.total / (self.total - 1))
        layer.running_mean.mul_(1 - factor).add_(self.mean, alpha=factor)
        layer.running_var.mul_(1 - factor).add_(unbiased, alpha=factor)


def install(controller: Any) -> None:
    original = BatchNorm.forward

    # `torch.jit.script` compiles the original's text, with the global names of this file.
    @functools.wraps(original)
    def forward(self: Any, inputs: torch.Tensor) -> torch.Tensor:
        part = controller.part
        uses_batch = self.training or self.running_mean is None
        if part is None or not uses_batch:
            return original(self, inputs)
        self._check_input_dim(inputs)
        outputs, mean, variance, total = SynchronisedNorm.apply(
            controller, inputs, self.weight, self.bias, self.eps)
        if self.training and self.track_running_stats and self.running_mean is not None:
            part.updates.append(StatisticsUpdate(self, mean.detach(), variance.detach(), total))
        return outputs

    BatchNorm.forward = forward
