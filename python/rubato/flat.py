"""A model's tensors as views of a worker's arena, where peers on the same host can read them.

The arena has one region for parameters and the statistics of normalisation layers, and slots for
gradients. Each slot is

    gradients | statistics | growth of the layers' counters | which parameters had a gradient

so that one reduction also averages the statistics by sample weight, counts a step once however
many shards a worker computed, and tells which parameters had no gradient anywhere.
"""

from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import torch
from torch import Tensor

ALIGNMENT = 16  # Floats in a cache line.

NORMALISATION = torch.nn.modules.batchnorm._NormBase  # Also of instance normalisation.
STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


class Holder(NamedTuple):
    """Where a module keeps a buffer."""

    module: torch.nn.Module
    name: str


class Bound(NamedTuple):
    """A tensor object, and the memory that it must be a view of."""

    tensor: Tensor
    view: Tensor
    address: int
    shape: torch.Size
    stride: Tuple[int, ...]
    name: str


def is_statistic(module: torch.nn.Module, name: str) -> bool:
    """True for buffers whose mean over parts of a batch stands for the batch."""
    return isinstance(module, NORMALISATION) and name in STATISTICS


def statistics_of(model: torch.nn.Module) -> Dict[str, Holder]:
    """By name; a buffer that several modules have is found once."""
    seen = set()
    found = {}
    for path, module in model.named_modules():
        for name, buffer in module._buffers.items():
            if buffer is None or id(buffer) in seen or not is_statistic(module, name):
                continue
            seen.add(id(buffer))
            found[f"{path}.{name}".lstrip(".")] = Holder(module, name)
    return found


def aligned_offsets(tensors: Sequence[Tensor]) -> Tuple[List[int], int]:
    """Where each tensor begins, and where all of them end."""
    offsets = []
    end = 0
    for tensor in tensors:
        offsets.append(end)
        end += -(-tensor.numel() // ALIGNMENT) * ALIGNMENT
    return offsets, end


def bind(tensor: Tensor, region: Tensor, offset: int, name: str) -> Bound:
    """Moves a tensor's values into a region, and the tensor with them."""
    view = region[offset : offset + tensor.numel()].view(tensor.shape)
    view.copy_(tensor.data)
    tensor.data = view
    return Bound(tensor, view, tensor.data_ptr(), tensor.shape, tensor.stride(), name)


def why_lost(present: Any, bound: Bound) -> str:
    """Why a tensor's values cannot be brought back to where they belong."""
    if present is None:
        return f"{bound.name} was removed after the trainer was made"
    if present.device.type != "cpu":
        return f"{bound.name} was moved to the device {present.device} after the trainer was made"
    if present.dtype != bound.view.dtype:
        return (f"{bound.name} became {present.dtype} after the trainer was made; only "
                f"{bound.view.dtype} can be trained")
    if present.shape != bound.shape:
        return (f"{bound.name} changed its shape from {list(bound.shape)} to "
                f"{list(present.shape)} after the trainer was made")
    return ""


class FlatModel:
    """The tensors of a model; in the arena once `attach` was called."""

    def __init__(self, parameters: Sequence[Tensor], model: torch.nn.Module) -> None:
        self.parameters = list(parameters)
        self.offsets, self.gradient_floats = aligned_offsets(self.parameters)
        statistics = statistics_of(model)
        self.floats_by_name = {name: holder for name, holder in statistics.items()
                               if self.tensor_of(holder).dtype == torch.float32}
        self.ints_by_name = {name: holder for name, holder in statistics.items()
                             if self.tensor_of(holder).dtype == torch.int64}
        self.statistic_offsets, self.statistic_floats = aligned_offsets(
            [self.tensor_of(holder) for holder in self.floats_by_name.values()])
        self.int_count = sum(self.tensor_of(h).numel() for h in self.ints_by_name.values())
        self.names = {id(parameter): name for name, parameter in model.named_parameters()}

    @staticmethod
    def tensor_of(holder: Holder) -> Tensor:
        return holder.module._buffers[holder.name]

    @property
    def parameter_bytes(self) -> int:
        return 4 * (self.gradient_floats + self.statistic_floats)

    @property
    def floats(self) -> int:
        tail = self.statistic_floats + self.int_count + len(self.parameters)
        return max(1, self.gradient_floats + tail)

    def attach(self, worker: Any, slots: int) -> None:
        """Moves all values into the arena."""
        region = self.region = torch.frombuffer(worker.parameters(), dtype=torch.float32)
        self.slots = [torch.frombuffer(worker.slot(i), dtype=torch.float32) for i in range(slots)]
        self.statistics = region[self.gradient_floats :]
        self.ints = torch.zeros(self.int_count, dtype=torch.int64)
        with torch.no_grad():
            self.bound = [
                bind(parameter, region, offset,
                     f"the parameter {self.names.get(id(parameter), f'number {index}')}")
                for index, (parameter, offset) in enumerate(zip(self.parameters, self.offsets))
            ]
            self.bound_statistics = self.bind_statistics()
        self.gradients = [
            [
                slot[offset : offset + parameter.numel()].view_as(parameter)
                for parameter, offset in zip(self.parameters, self.offsets)
            ]
            for slot in self.slots
        ]
        begin = self.gradient_floats
        end = begin + self.statistic_floats
        self.slot_statistics = [slot[begin:end] for slot in self.slots]
        self.slot_growths = [slot[end : end + self.int_count] for slot in self.slots]
        self.slot_presences = [slot[end + self.int_count :] for slot in self.slots]
        self.statistics_before = self.statistics.clone()
        self.ints_before = self.ints.clone()
        self.slot = 0

    def bind_statistics(self) -> List[Tuple[Holder, Bound]]:
        found = []
        for (name, holder), offset in zip(self.floats_by_name.items(), self.statistic_offsets):
            bound = bind(self.tensor_of(holder), self.statistics, offset, f"the buffer {name}")
            found.append((holder, bound))
        end = 0
        for name, holder in self.ints_by_name.items():
            bound = bind(self.tensor_of(holder), self.ints, end, f"the buffer {name}")
            found.append((holder, bound))
            end += bound.tensor.numel()
        return found

    # Tensors that were bound to other memory.

    @torch.no_grad()
    def bring_back(self) -> None:
        """Values that the script has bound elsewhere, as by `p.data = ...`, go to the arena, and
        the tensors are views of it again. Raises ValueError with the reason if they cannot."""
        for bound in self.bound:
            tensor, _, address, shape, stride, _ = bound
            if (tensor.data_ptr() != address or tensor.stride() != stride
                    or tensor.shape != shape):
                self.bring_back_one(tensor, bound)
        for holder, bound in self.bound_statistics:
            present = holder.module._buffers.get(holder.name)
            # `self.count = self.count + 1` makes a new tensor.
            if present is not bound.tensor or present.data_ptr() != bound.address:
                self.bring_back_one(present, bound)
                holder.module._buffers[holder.name] = bound.tensor

    @staticmethod
    def bring_back_one(present: Any, bound: Bound) -> None:
        reason = why_lost(present, bound)
        if reason:
            raise ValueError(reason)
        bound.view.copy_(present.data.clone())  # It may be another view of the same memory.
        bound.tensor.data = bound.view

    def bind_again(self) -> None:
        """The arena holds values that count; whatever was bound elsewhere is forgotten."""
        for bound in self.bound:
            bound.tensor.data = bound.view
        for holder, bound in self.bound_statistics:
            bound.tensor.data = bound.view
            holder.module._buffers[holder.name] = bound.tensor

    # A step.

    def clear(self, slot: int) -> None:
        self.slots[slot].zero_()

    def expect_gradients(self, slot: int) -> None:
        """The next backward pass makes new ones: moving them is cheaper than adding to zeros."""
        self.slot = slot
        for parameter in self.parameters:
            parameter.grad = None

    def keep_statistics(self) -> None:
        """Remembers them: every shard of a step begins with the same."""
        if self.bound_statistics:
            self.statistics_before.copy_(self.statistics)
            self.ints_before.copy_(self.ints)

    def restore_statistics(self) -> None:
        if self.bound_statistics:
            self.statistics.copy_(self.statistics_before)
            self.ints.copy_(self.ints_before)

    @torch.no_grad()
    def gather(self) -> None:
        """Makes the present slot complete, wherever the script has put its gradients."""
        self.bring_back()
        had_gradient = []
        for parameter, view in zip(self.parameters, self.gradients[self.slot]):
            gradient = parameter.grad
            had_gradient.append(float(gradient is not None))
            if gradient is None:
                view.zero_()
            elif gradient.layout != torch.strided:
                raise ValueError("gradients are sparse: only dense ones can be averaged")
            elif gradient is not view:
                view.copy_(gradient)
        self.slot_presences[self.slot].copy_(torch.tensor(had_gradient))
        if self.bound_statistics:
            self.slot_statistics[self.slot].copy_(self.statistics)
            self.slot_growths[self.slot].copy_(self.ints - self.ints_before)

    @torch.no_grad()
    def spread(self) -> None:
        """Takes over what the reduction has left in slot 0; gradients are then ready to apply.
        Who had none on any worker has none now: an optimizer must not move it."""
        if self.bound_statistics:
            self.statistics.copy_(self.slot_statistics[0])
            self.ints.copy_(self.slot_growths[0].round()).add_(self.ints_before)
        presences = self.slot_presences[0].tolist()
        for parameter, view, presence in zip(self.parameters, self.gradients[0], presences):
            parameter.grad = view if presence > 0 else None
        self.slot = 0

    def state(self) -> Dict[str, Any]:
        return {"ints": self.ints}

    def take_over(self, state: Dict[str, Any]) -> None:
        """Another worker's; the arena's region has been handed over already."""
        self.bind_again()
        self.ints.copy_(state["ints"])
        self.keep_statistics()
