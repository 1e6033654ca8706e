"""Losses that a script computes of the output of a shared call, computed on the parts.

A loss over a large output, such as the logits of a language model, takes as long as a layer. If it
is one of torch's own and the script has done no more to the output than reshape it
(output_path.py), each worker computes the loss of its part, and at backward begins there: the
gradient of the output is made where it is used. The output itself has been gathered all the same,
since the script may do anything with it.

In the graph the loss is a node above the output, as ever. It hands no gradient down; the node of
the call knows that the loss is due. Wherever somebody may look at that gradient, it is computed
from the gathered output instead: gradients of gradients, a second backward, hooks and `retain_grad`
on tensors of the graph, gradients asked for by name, replicas that have died.
"""

import functools
import os
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

import torch

from rubato.split.call import PartFailed
from rubato.split.graph_node import SplitFunction
from rubato.split.output_path import BatchAxis, OutputPath, apply_steps, find_path
from rubato.split.part import ReplicaLost
from rubato.split.part_losses import LOSSES, ORIGINALS
from rubato.split.replica import Input, LossOfPart, LossRequest

# Elements of the output below which a message costs more than the loss. A softmax is dear.
ELEMENTS_MIN = {"cross_entropy": 1 << 18, "nll_loss": 1 << 20}
ELEMENTS_MIN_OTHERS = 1 << 21
OF_CLASSES = ("cross_entropy", "nll_loss")


class PartedLoss(NamedTuple):
    """A loss of which each worker has its part."""

    name: str
    given: Dict[str, Any]  # Arguments, by name.
    path: OutputPath
    number: int  # Among those of the call.

    def divisor(self) -> torch.Tensor:
        """What the sum is divided by."""
        if self.given.get("reduction", "mean") == "sum":
            return torch.ones(())
        return LOSSES[self.name].count(self.given)[0]


class Axes(NamedTuple):
    """Where the samples lie in what a loss is computed of besides the output."""

    target: BatchAxis
    others: Dict[str, BatchAxis]  # By argument, unless it is the same for all samples.


def compute_on_parts(controller: Any, name: str, given: Dict[str, Any]) -> Optional[torch.Tensor]:
    """The loss; nothing if it has to be computed of the gathered output."""
    if not controller.outstanding or controller.shows_gradients or not torch.is_grad_enabled():
        return None
    if controller.is_deterministic:  # A loss of the gathered output may differ in the last bit.
        return None
    output = given.get("input")
    if not is_possible(controller, name, given, output):
        return None
    path = find_path(output, SplitFunction._backward_cls)
    if path is None or not path.call.can_compute_losses():
        return None
    axes = axes_of(name, given, output, path)
    if axes is None:
        return None
    loss = PartedLoss(name, given, path, path.call.losses)
    try:
        total, count = sum_of_parts(controller, loss, axes)
    except ReplicaLost:
        path.call.forget()
        controller.lose_replicas("a loss")
        return None
    except Exception:  # That of the gathered output raises what the user should see.
        path.call.forget()
        controller.group.reset()  # No replica is left with an answer that nobody takes.
        return None
    path.call.losses += 1
    controller.losses_on_parts += 1
    value = torch.tensor(total, dtype=torch.float64).to(output.dtype) / count
    return LossFunction.apply(loss, value, output, count)


def is_possible(controller: Any, name: str, given: Dict[str, Any], output: Any) -> bool:
    if not isinstance(output, torch.Tensor) or not output.requires_grad:
        return False
    least = ELEMENTS_MIN.get(name, ELEMENTS_MIN_OTHERS)
    if output.numel() < least and not controller.always_shares:
        return False
    if output.device.type != "cpu" or not output.is_floating_point():
        return False
    if given.get("size_average") is not None or given.get("reduce") is not None:
        return False
    if given.get("reduction", "mean") not in ("mean", "sum"):
        return False
    if torch.is_autocast_cpu_enabled():
        return False
    others = [value for key, value in given.items() if key != "input"
              and isinstance(value, torch.Tensor)]
    return isinstance(given.get("target"), torch.Tensor) and not any(
        [tensor.requires_grad or tensor.device.type != "cpu" for tensor in others])


def axis_of_target(name: str, target: torch.Tensor, output: torch.Tensor,
                   path: OutputPath) -> Any:
    """Where the samples lie in the target; nothing if it does not go with the output by sample."""
    axis = path.axes[-1]
    if name in OF_CLASSES and not target.is_floating_point():
        shape = list(output.shape[:1]) + list(output.shape[2:])
        if output.dim() < 2 or axis.dimension == 1 or list(target.shape) != shape:
            return None
        return axis._replace(dimension=max(0, axis.dimension - 1))
    if target.shape != output.shape or name in OF_CLASSES and axis.dimension == 1:
        return None
    return axis


def axes_of(name: str, given: Dict[str, Any], output: torch.Tensor,
            path: OutputPath) -> Optional[Axes]:
    """Nothing if something does not go with the output by sample."""
    target = axis_of_target(name, given["target"], output, path)
    if target is None:
        return None
    others: Dict[str, BatchAxis] = {}
    axis = path.axes[-1]
    for key, value in given.items():
        if key in ("input", "target") or name in OF_CLASSES or not isinstance(value, torch.Tensor):
            continue
        at = axis.dimension - (output.dim() - value.dim())
        if value.dim() > output.dim():
            return None
        if at < 0 or value.shape[at] == 1:
            continue
        if value.shape[at] != output.shape[axis.dimension]:
            return None
        others[key] = axis._replace(dimension=at)
    return Axes(target, others)


def sum_of_parts(controller: Any, loss: PartedLoss, axes: Axes) -> Tuple[float, torch.Tensor]:
    """And what it is to be divided by. Raises ReplicaLost, or whatever a part raises; then no
    worker has it."""
    call, path, heap = loss.path.call, loss.path, controller.heap
    others = {key: value for key, value in loss.given.items()
              if key not in ("input", "target", "reduction", "size_average", "reduce")}

    def of_part(part: int, put: Callable[[torch.Tensor], Any]) -> LossOfPart:
        begin, size = call.begins[part], call.sizes[part]
        target = axes.target.cut(loss.given["target"], begin, size)
        arguments = {
            key: put(axes.others[key].cut(value, begin, size) if key in axes.others else value)
            if isinstance(value, torch.Tensor) else value for key, value in others.items()}
        return LossOfPart(path.output, path.steps, path.axes, call.sizes[part], put(target),
                          arguments)

    heap.clear()
    for worker, replica in enumerate(call.replicas, 1):
        replica.request(LossRequest(call.number, loss.name, [
            of_part(k, lambda tensor: Input(heap.put(tensor), False))
            for k in call.parts_of(worker)]))
    controller.faults.on_loss(call)
    values: Dict[int, float] = {}
    for k in call.parts_of(0):
        values[k] = call.kept[k].add_loss(loss.name, of_part(k, lambda tensor: tensor))
    count = loss.divisor().to(loss.given["input"].dtype)  # While the others compute.
    for worker, replica in enumerate(call.replicas, 1):
        reply = replica.reply(call.own_seconds)
        if reply.error:
            raise PartFailed(reply.error)
        values.update(zip(call.parts_of(worker), reply.values))
    return sum(values[k] for k in range(len(call.sizes))), count


class LossFunction(torch.autograd.Function):
    """The loss as a node above the output that it was computed of."""

    @staticmethod
    def forward(ctx: Any, loss: PartedLoss, value: torch.Tensor, output: torch.Tensor,
                count: torch.Tensor) -> Any:
        ctx.loss, ctx.count = loss, count
        ctx.save_for_backward(output)
        return value

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        loss: PartedLoss = ctx.loss
        call = loss.path.call
        output, = ctx.saved_tensors
        if torch.is_grad_enabled():
            return None, None, exact_gradient(loss, output, gradient, True), None
        if call.controller.shows_gradients or not call.can_compute_losses():
            return None, None, exact_gradient(loss, output, gradient, False), None
        # As torch's own backward divides it.
        call.due.append(DueLoss(loss.number, float(gradient / ctx.count),
                                call.controller.failed_backwards, loss, output, gradient))
        return None, None, None, None


class DueLoss(NamedTuple):
    """A loss of parts that a backward begins at."""

    number: int
    gradient: float  # Of every part's sum.
    epoch: int  # Stale if a backward has failed since.
    loss: PartedLoss
    tensor: torch.Tensor  # Made of the output, that the loss was computed of.
    of_loss: torch.Tensor

    def gradient_of_output(self) -> torch.Tensor:
        """When replicas have died between loss and backward."""
        path = self.loss.path
        of_tensor = exact_gradient(self.loss, self.tensor, self.of_loss, False)
        shape = path.steps[0].old if path.steps else of_tensor.shape
        with torch.enable_grad():  # The steps are linear: their gradients need no values.
            output = of_tensor.new_zeros(shape).requires_grad_(True)
            reached = apply_steps(path.steps, path.axes, output, path.axes[0].size)
            return torch.autograd.grad(reached, output, of_tensor.view_as(reached))[0]


def exact_gradient(loss: PartedLoss, output: torch.Tensor, gradient: torch.Tensor,
                   makes_graph: bool) -> torch.Tensor:
    """Of the gathered tensor that the loss was computed of."""
    with torch.enable_grad():
        given = output if makes_graph else output.detach().requires_grad_(True)
        value = ORIGINALS[loss.name](**{**loss.given, "input": given})
        return torch.autograd.grad(value, given, gradient, create_graph=makes_graph)[0]


# What would show that the node of a loss hands no gradient down.


def install(controller: Any) -> None:
    if os.environ.get("RUBATO_LOSS_ON_PARTS") == "0":
        return
    controller.compute_on_parts = compute_on_parts
    watch_gradients(controller)
    watch_values(controller)
    torch.autograd.backward = with_named_inputs(controller, torch.autograd.backward, 5)
    torch.autograd.grad = with_named_inputs(controller, torch.autograd.grad, 1)


def with_named_inputs(controller: Any, original: Callable[..., Any], position: int) -> Any:
    """Gradients of tensors inside the graph may be asked for by name."""

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        inputs = kwargs.get("inputs", args[position] if len(args) > position else None)
        given = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs or ())
        is_inside = any([isinstance(one, torch.Tensor) and one.grad_fn is not None
                         for one in given])
        controller.asked_by_name += is_inside
        try:
            return original(*args, **kwargs)
        except BaseException:
            controller.failed_backwards += 1
            raise
        finally:
            controller.asked_by_name -= is_inside

    return wrapper


def watch_gradients(controller: Any) -> None:
    """Hooks and `retain_grad` on tensors inside the graph end this for good."""
    for name in ("register_hook", "retain_grad"):
        original = getattr(torch.Tensor, name)

        @functools.wraps(original)
        def watched(self: torch.Tensor, *args: Any, original: Any = original) -> Any:
            if self.grad_fn is not None:
                controller.has_hooks = True
            return original(self, *args)

        setattr(torch.Tensor, name, watched)


def watch_values(controller: Any) -> None:
    """Through `data` an output can be changed without a trace."""
    plain = torch.Tensor.data

    def expose(tensor: torch.Tensor) -> None:
        if controller.outstanding and tensor.grad_fn is not None and controller.is_leader:
            path = find_path(tensor, SplitFunction._backward_cls)
            if path is not None:
                path.call.is_exposed = True

    def read(tensor: torch.Tensor) -> torch.Tensor:
        expose(tensor)
        return plain.__get__(tensor)

    def write(tensor: torch.Tensor, value: torch.Tensor) -> None:
        expose(tensor)
        plain.__set__(tensor, value)

    torch.Tensor.data = property(read, write, doc=plain.__doc__)
