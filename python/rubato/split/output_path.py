"""The way from an output of a shared call to a tensor that a loss is computed of.

Scripts reshape, transpose or slice a model's output before they hand it to a loss. If that is all
they do, the same can be done to each part of the output where it was computed.
"""

import math
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

import torch

STEPS_MAX = 8  # Between an output and a loss.
VIEWS = {"ViewBackward0", "ReshapeAliasBackward0", "UnsafeViewBackward0", "SqueezeBackward0",
         "SqueezeBackward1", "UnsqueezeBackward0"}


class BatchAxis(NamedTuple):
    """Where the samples of a batch lie in a tensor: along dimension `dimension`, which has
    `outer * size * inner` entries, of which entry i belongs to sample i // inner % size."""

    dimension: int
    size: int
    outer: int = 1
    inner: int = 1

    def cut(self, whole: torch.Tensor, begin: int, length: int) -> torch.Tensor:
        """What of a tensor belongs to some of the samples."""
        shape, at = list(whole.shape), self.dimension
        factors = [self.outer, self.size, self.inner]
        split = whole.reshape(shape[:at] + factors + shape[at + 1:])
        return split.narrow(at + 1, begin, length).reshape(self.shape(shape, length))

    def shape(self, whole: Sequence[int], length: int) -> List[int]:
        """Of the same tensor with other samples."""
        shape = list(whole)
        shape[self.dimension] = self.outer * length * self.inner
        return shape

    def viewed(self, old: Sequence[int], new: Sequence[int]) -> Optional["BatchAxis"]:
        """The same in another shape; nothing if no dimension of it has all samples."""
        before = math.prod(old[:self.dimension]) * self.outer
        after = math.prod(old[self.dimension + 1:]) * self.inner
        for at, entries in enumerate(new):
            outside, inside = math.prod(new[:at]), math.prod(new[at + 1:])
            if 0 in (outside, inside) or before % outside or after % inside:
                continue
            outer, inner = before // outside, after // inside
            if entries == outer * self.size * inner:
                return BatchAxis(at, self.size, outer, inner)
        return None


class Step(NamedTuple):
    """One operation between the output and the loss."""

    name: str  # view, transpose, permute, slice, select, clone
    arguments: Tuple[Any, ...]
    old: Tuple[int, ...]  # The shape before it, and after it.
    new: Tuple[int, ...]

    def axis(self, axis: BatchAxis) -> Optional[BatchAxis]:
        """Where the samples lie after it; nothing if it goes across them."""
        at = axis.dimension
        if self.name == "view":
            return axis.viewed(self.old, self.new)
        if self.name == "transpose":
            first, second = self.arguments
            return axis._replace(dimension={first: second, second: first}.get(at, at))
        if self.name == "permute":
            return axis._replace(dimension=self.arguments.index(at))
        if self.name == "slice" and self.arguments[0] == at:
            return None
        if self.name == "select":
            dimension = self.arguments[0]
            return None if dimension == at else axis._replace(dimension=at - (dimension < at))
        return axis

    def apply(self, tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
        """To a part of the tensor, which then has this shape."""
        if self.name == "view":
            return tensor.reshape(shape)
        if self.name == "transpose":
            return tensor.transpose(*self.arguments)
        if self.name == "permute":
            return tensor.permute(self.arguments)
        if self.name == "slice":
            dimension, begin, length, stride = self.arguments
            return tensor[(slice(None),) * dimension + (slice(begin, begin + length, stride),)]
        if self.name == "select":
            return tensor.select(*self.arguments)
        return tensor.clone()


class OutputPath(NamedTuple):
    """From output `output` of a call to a tensor made of it."""

    call: Any
    output: int
    steps: List[Step]
    axes: List[BatchAxis]  # Of the output, and after each step.


def apply_steps(steps: Sequence[Step], axes: Sequence[BatchAxis], output: torch.Tensor,
                samples: int) -> torch.Tensor:
    """To the output of a part that has so many samples."""
    for step, axis in zip(steps, axes[1:]):
        output = step.apply(output, axis.shape(step.new, samples))
    return output



def find_path(tensor: torch.Tensor, kind: type) -> Optional[OutputPath]:
    """The path to a tensor from a call whose node in the graph is of this kind; nothing if the
    tensor is anything else, or if its values may have been changed since."""
    if tensor._version != 0:
        return None
    node, index = tensor.grad_fn, tensor.output_nr
    shape = tuple(tensor.shape)
    steps: List[Step] = []
    while not isinstance(node, kind):
        step = step_of(node, shape) if index == 0 and len(steps) < STEPS_MAX else None
        if step is None:
            return None
        steps.append(step)
        shape = step.old
        node, index = node.next_functions[0]
    # Behind a second copy nobody can tell whether the first was changed.
    if sum(step.name == "clone" for step in steps) > 1:
        return None
    call, output = node.call, node.positions[index]
    axis: Optional[BatchAxis] = call.batch_axis(output)
    if axis is None or not call.is_output_unchanged(output):
        return None
    axes = [axis]
    steps.reverse()
    for step in steps:
        axis = step.axis(axis)
        if axis is None:
            return None
        axes.append(axis)
    return OutputPath(call, output, steps, axes)


def step_of(node: Any, new: Tuple[int, ...]) -> Optional[Step]:
    """What a node of the graph did, whose result has this shape; nothing if it is not known."""
    name = node.name() if node is not None else ""
    if name in VIEWS:
        old = without(new, node._saved_dim) if name == "UnsqueezeBackward0" else old_shape(node)
        return Step("view", (), old, new)
    if name == "TransposeBackward0":
        first, second = (wrapped(d, len(new)) for d in (node._saved_dim0, node._saved_dim1))
        old = list(new)
        old[first], old[second] = new[second], new[first]
        return Step("transpose", (first, second), tuple(old), new)
    if name == "PermuteBackward0":
        dims = tuple(wrapped(d, len(new)) for d in node._saved_dims)
        old = [0] * len(new)
        for at, dimension in enumerate(dims):
            old[dimension] = new[at]
        return Step("permute", dims, tuple(old), new)
    if name == "SliceBackward0":
        return slice_of(node, new)
    if name == "SelectBackward0":
        old = old_shape(node)
        dimension = wrapped(node._saved_dim, len(old))
        return Step("select", (dimension, wrapped(node._saved_index, old[dimension])), old, new)
    if name == "CloneBackward0":
        return Step("clone", (), new, new)
    return None


def slice_of(node: Any, new: Tuple[int, ...]) -> Optional[Step]:
    old = old_shape(node)
    dimension = wrapped(node._saved_dim, len(old))
    if old == new:
        return Step("view", (), old, new)
    entries, stride = old[dimension], int(node._saved_step)
    begin = min(max(wrapped(node._saved_start or 0, entries), 0), entries)
    length = (new[dimension] - 1) * stride + 1 if new[dimension] else 0
    return Step("slice", (dimension, begin, length, stride), old, new)


def old_shape(node: Any) -> Tuple[int, ...]:
    """Of what the node was applied to."""
    saved = getattr(node, "_saved_self_sym_sizes", None)
    return tuple(node._saved_self_sizes if saved is None else saved)


def wrapped(number: int, size: int) -> int:
    """An index that may count from the end; torch keeps some of them unsigned."""
    if number >= 1 << 63:
        number -= 1 << 64
    return number + size if number < 0 else number


def without(shape: Tuple[int, ...], dimension: int) -> Tuple[int, ...]:
    at = wrapped(dimension, len(shape))
    return shape[:at] + shape[at + 1:]
