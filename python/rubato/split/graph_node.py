"""A shared call in the graph of the script."""

from typing import Any, List, Optional

import torch


def has_gradients(tensor: torch.Tensor) -> bool:
    """Whether its kind of numbers can have some."""
    return tensor.is_floating_point() or tensor.is_complex()


class SplitFunction(torch.autograd.Function):
    """A shared call as one node of the script's graph."""

    @staticmethod
    def forward(ctx: Any, call: Any, tensors: int, *_: torch.Tensor) -> Any:
        ctx.set_materialize_grads(False)
        ctx.call, ctx.tensors = call, tensors
        ctx.positions = [i for i, result in enumerate(call.results)
                         if isinstance(result, torch.Tensor)]
        ctx.mark_non_differentiable(*[
            call.results[i] for i in ctx.positions
            if not call.needs_gradient[i] or not has_gradients(call.results[i])])
        return tuple(call.results[i] for i in ctx.positions)

    @staticmethod
    def backward(ctx: Any, *gradients: Optional[torch.Tensor]) -> Any:
        call = ctx.call
        of_outputs: List[Optional[torch.Tensor]] = [None] * len(call.verdict.outputs)
        for position, gradient in zip(ctx.positions, gradients):
            of_outputs[position] = gradient
        if torch.is_grad_enabled():
            call.controller.notices.tell(
                f"graph of gradients {call.root.number}",
                f"gradients of gradients through {call.root.name} are computed unsplit")
            found = call.whole_again(of_outputs, True)
        else:
            found = call.backward(of_outputs)
        of_inputs = iter(found[0])
        arguments = [next(of_inputs) if i in call.inputs else None
                     for i, leaf in enumerate(call.leaves) if isinstance(leaf, torch.Tensor)]
        return (None, None, *arguments, *call.controller.faults.on_gradients(found[1]))
