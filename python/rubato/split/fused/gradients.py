"""The gradients of a root's parameters, added up when somebody needs them.

The parts of a shared backward leave their gradients in flat areas of shared memory, one per part.
Until an optimizer's step adds them up on the way, or somebody asks for a gradient, they are
pending: `Parameter.grad` is then not yet what it should be, and whoever reads it adds up first.
"""

from enum import IntEnum
from typing import Any, List, Optional, Sequence, Tuple

import torch

from rubato import _core
from rubato.split.fused.blocks import FLOAT_BYTES, tensors_in
from rubato.split.part import GRAD

ALIGNED_FLOATS = 16  # Parameters in an area begin at multiples of this.
FAILURES_MAX = 3  # Backwards of which a part left no gradient for some parameter.


class Base(IntEnum):
    """What the gradients were before pending parts; the first three as the kernels know them."""

    NONE = 0
    ZERO = 1  # `grad` is our tensor; its memory is yet to be set to zero.
    VALUE = 2  # `grad` is our tensor.
    FOREIGN = 3  # Whatever torch or the script made them.


def layout(parameters: Sequence[torch.Tensor]) -> Tuple[List[int], int]:
    """Where in an area parameters begin, and how many floats it has."""
    begins, at = [], 0
    for parameter in parameters:
        begins.append(at)
        at += (parameter.numel() + ALIGNED_FLOATS - 1) // ALIGNED_FLOATS * ALIGNED_FLOATS
    return begins, at


def why_not(parameters: Sequence[Any]) -> str:
    """Why these parameters cannot have pending gradients; empty if they can."""
    for parameter in parameters:
        if type(parameter).grad is not torch.nn.Parameter.grad:
            return "a tensor that is no parameter"
        if not is_plain(parameter) or parameter.numel() == 0:
            return "a parameter that is not made of floats in a row"
    if len({id(parameter) for parameter in parameters}) != len(parameters):
        return "a parameter that is there twice"
    return "" if parameters else "no parameters"


def is_plain(tensor: torch.Tensor) -> bool:
    return (tensor.dtype == torch.float32 and tensor.device.type == "cpu"
            and tensor.layout == torch.strided and tensor.is_contiguous())


class GradientGroup:
    """The parameters of one root, whose parts' gradients come together."""

    def __init__(self, steps: Any, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Raises MemoryError."""
        self.steps = steps
        self.parameters = list(parameters)
        self.ids = {id(parameter) for parameter in parameters}
        self.begins, self.floats = layout(parameters)
        self.blocks = steps.blocks
        block = self.blocks.take(FLOAT_BYTES * self.floats)
        self.flat = torch.frombuffer(block, dtype=torch.float32, count=self.floats)
        self.views = tensors_in(block, self.begins, parameters)
        self.empty = [view.view(-1)[:0] for view in self.views]
        self.areas: List[Any] = []
        self.base = Base.FOREIGN
        self.parts = 0  # Pending.
        self.scale: Optional[float] = None  # That gradients are yet to be multiplied by.
        self.is_read = any(steps.was_read(parameter) for parameter in parameters)
        self.failures = 0
        self.addresses: List[int] = []  # Of the parameters, as the replicas know them.
        self.quick: Any = None  # The check of the root that these addresses are of.
        self.storages: List[Any] = []  # What lies there: as long as we hold it, nothing else can.
        self.helpers: List[Any] = []  # Replicas that know them so.
        self.sum_table = self.table([(0, 0, 0)] * len(self.parameters))

    def table(self, entries: Sequence[Tuple[int, int, int]]) -> Any:
        """Pieces in shared memory, for these state addresses and settings."""
        block = self.blocks.take(_core.split.StepTable.footprint(
            [parameter.numel() for parameter in self.parameters]))
        return _core.split.StepTable(
            [(parameter.data_ptr(), view.data_ptr(), first, second, begin, parameter.numel(),
              settings)
             for parameter, view, begin, (first, second, settings)
             in zip(self.parameters, self.views, self.begins, entries)], block)

    # What is there.

    @property
    def is_unsettled(self) -> bool:
        """Somebody who looks at `grad` would not see what he should."""
        return self.parts > 0 or self.scale is not None or self.base is Base.ZERO

    def is_ours(self) -> bool:
        """Nobody has put another tensor in the place of ours."""
        get = GRAD.__get__
        return all([get(parameter) is view
                    for parameter, view in zip(self.parameters, self.views)])

    def has_gradients(self) -> bool:
        """Those that our kernels can take where they lie."""
        if self.parts:
            return self.base is Base.NONE or self.is_ours()
        return self.base in (Base.ZERO, Base.VALUE) and self.is_ours()

    def is_mapped(self) -> bool:
        """The helpers see the parameters where the leader sees them."""
        return [parameter.data_ptr() for parameter in self.parameters] == self.addresses

    # A backward.

    def begin(self, call: Any) -> Optional[List[int]]:
        """Where the parts' gradients go; nothing if autograd has to add them up."""
        if self.failures >= FAILURES_MAX or not self.prepare():
            return None
        try:
            while len(self.areas) < len(call.sizes):
                self.areas.append(self.blocks.take(FLOAT_BYTES * self.floats))
        except MemoryError:
            self.failures = FAILURES_MAX
            return None
        self.helpers = list(call.replicas)
        if self.quick is None or self.quick is not call.root.quick:
            self.quick = call.root.quick
            self.storages = [parameter.storage() for parameter in self.parameters]
            self.addresses = known_addresses(call, self.parameters)
        return [area.offset for area in self.areas[:len(call.sizes)]]

    def prepare(self) -> bool:
        """Whether gradients may be pending after the backward that begins now."""
        if self.parts or self.scale is not None:
            self.settle()
        if self.base in (Base.ZERO, Base.VALUE) and not self.is_ours():
            self.base = Base.FOREIGN
        if self.base in (Base.NONE, Base.FOREIGN):
            self.base = Base.FOREIGN
            present = [GRAD.__get__(parameter) is not None for parameter in self.parameters]
            if not any(present):
                self.base = Base.NONE
            elif all(present) and self.can_adopt():
                self.adopt()
        # A script that looks at gradients may keep them, and expects new ones after None.
        return self.base in (Base.ZERO, Base.VALUE) or (
            self.base is Base.NONE and not self.is_read)

    def can_adopt(self) -> bool:
        """Nobody can tell the difference if gradients move to our memory."""
        if self.is_read:
            return False
        for parameter in self.parameters:
            gradient = GRAD.__get__(parameter)
            if (not is_plain(gradient) or gradient.requires_grad or gradient._is_view()
                    or type(gradient) is not torch.Tensor or gradient.shape != parameter.shape):
                return False
        return True

    def adopt(self) -> None:
        with torch.no_grad():
            for parameter, view in zip(self.parameters, self.views):
                view.copy_(GRAD.__get__(parameter))
                GRAD.__set__(parameter, view)
        self.base = Base.VALUE

    def finish(self, rest: Sequence[Optional[List[Any]]]) -> Optional[List[List[Any]]]:
        """After a backward; gradients by part if autograd has to add them up after all."""
        if all(part is None for part in rest):
            self.failures = 0
            self.parts = len(rest)
            if self.is_read:
                self.settle()
            return None
        self.failures += 1
        self.settle()
        return [part if part is not None else
                tensors_in(self.areas[number], self.begins, self.parameters)
                for number, part in enumerate(rest)]

    # What happens to gradients.

    def settle(self) -> None:
        """Makes `grad` what it should be."""
        with self.steps.lock:
            if self.parts or self.scale is not None:
                self.add_up()
            elif self.base is Base.ZERO:
                with torch.no_grad():
                    self.flat.zero_()
                self.base = Base.VALUE

    def update(self, table: Any, may_share: bool) -> None:
        """Updates parameters by the table and the settings of the common work. What is pending is
        added up for that alone and stays pending: mostly nobody looks at it before it is set to
        zero. Under the lock."""
        self.run(table, may_share, keeps_gradient=False)

    def run(self, table: Any, may_share: bool, keeps_gradient: bool) -> None:
        work = self.steps.work
        areas = [area.address for area in self.areas[:self.parts]]
        work.set_parts(int(self.base) if areas else int(Base.VALUE), areas, keeps_gradient)
        work.set_scale(self.scale)
        self.steps.run(self, table, may_share)

    def add_up(self) -> None:
        """What is pending. Under the lock."""
        self.run(self.sum_table, may_share=True, keeps_gradient=True)
        if self.parts and self.base is Base.NONE:
            for parameter, view in zip(self.parameters, self.views):
                GRAD.__set__(parameter, view)
        if self.is_read and (self.parts or self.scale is not None):
            raise_versions(self.empty)
        self.base, self.parts, self.scale = Base.VALUE, 0, None

    def zero(self, set_to_none: bool) -> bool:
        """What `zero_grad` does, without touching memory; false if torch has to do it."""
        if self.is_read or not self.has_gradients():
            return False
        if set_to_none:
            for parameter in self.parameters:
                GRAD.__set__(parameter, None)
            self.base = Base.NONE
        else:
            if self.parts and self.base is Base.NONE:
                for parameter, view in zip(self.parameters, self.views):
                    GRAD.__set__(parameter, view)
            self.base = Base.ZERO
        self.parts, self.scale = 0, None
        return True


def known_addresses(call: Any, parameters: Sequence[torch.Tensor]) -> List[int]:
    """Where the replicas of a call see its parameters, which is where the leader saw them when they
    were last compared; 0 if it is not certain that they see them."""
    quick = call.root.quick
    known = {} if quick is None else {id(entry[0]): entry[1] for entry in quick.parameters}
    return [known.get(id(parameter), 0) if parameter.is_shared() else 0
            for parameter in parameters]


def raise_versions(empty: Sequence[torch.Tensor]) -> None:
    """Tells autograd that tensors were changed in place, by an operation on none of their
    elements."""
    with torch.no_grad():
        torch._foreach_zero_(list(empty))
