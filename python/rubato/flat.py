"""A model's tensors as views of a worker's arena, where peers on the same host can read them.

The arena has one region for parameters and float buffers, and slots for gradients. Each slot is

    gradients | float buffers | growth of integer buffers | which odd parameters had a gradient

so that one reduction also averages the statistics of batch normalisation by sample weight, and
counts a step once however many shards a worker computed.
"""

from typing import Any, Dict, Iterable, List, NamedTuple, Sequence, Tuple

import torch
from torch import Tensor

ALIGNMENT = 16  # Floats in a cache line.


class Holder(NamedTuple):
    """Where a module keeps a buffer."""

    module: torch.nn.Module
    name: str
    view: Tensor


def named_buffers(modules: Iterable[torch.nn.Module]) -> List[Tuple[torch.nn.Module, str]]:
    """Every buffer of the modules, once."""
    seen = set()
    found = []
    for root in modules:
        for module in root.modules():
            for name, buffer in module._buffers.items():
                if buffer is not None and id(buffer) not in seen:
                    seen.add(id(buffer))
                    found.append((module, name))
    return found


def aligned_offsets(tensors: Sequence[Tensor]) -> Tuple[List[int], int]:
    """Where each tensor begins, and where all of them end."""
    offsets = []
    end = 0
    for tensor in tensors:
        offsets.append(end)
        end += -(-tensor.numel() // ALIGNMENT) * ALIGNMENT
    return offsets, end


class FlatModel:
    """The tensors of a model; in the arena once `attach` was called."""

    def __init__(
        self,
        parameters: Sequence[Tensor],
        modules: Sequence[torch.nn.Module],
        bystanders: Sequence[torch.nn.Module] = (),
    ) -> None:
        """`bystanders` are modules that are not trained, such as averages of those that are."""
        self.parameters = list(parameters)
        self.offsets, self.gradient_floats = aligned_offsets(self.parameters)
        buffers = named_buffers(modules)
        self.float_names = [b for b in buffers if self.tensor_of(b).dtype == torch.float32]
        self.int_names = [b for b in buffers if self.tensor_of(b).dtype == torch.int64]
        self.buffer_offsets, self.buffer_floats = aligned_offsets(
            [self.tensor_of(b) for b in self.float_names]
        )
        self.int_count = sum(self.tensor_of(b).numel() for b in self.int_names)
        self.others = self.other_tensors(modules, buffers) + [
            tensor for module in bystanders for tensor in (*module.parameters(), *module.buffers())
        ]
        # Parameters that had no gradient so far: the optimizer must not see one.
        self.unused: Dict[int, bool] = {}

    @staticmethod
    def tensor_of(buffer: Tuple[torch.nn.Module, str]) -> Tensor:
        return buffer[0]._buffers[buffer[1]]

    def other_tensors(
        self, modules: Sequence[torch.nn.Module], buffers: Sequence[Any]
    ) -> List[Tensor]:
        """What travels with the rest of the state: frozen parameters, buffers of other types."""
        trained = {id(parameter) for parameter in self.parameters}
        others = [
            parameter
            for module in modules
            for parameter in module.parameters()
            if id(parameter) not in trained
        ]
        own = {torch.float32, torch.int64}
        tensors = [self.tensor_of(buffer) for buffer in buffers]
        return others + [tensor for tensor in tensors if tensor.dtype not in own]

    @property
    def parameter_bytes(self) -> int:
        return 4 * (self.gradient_floats + self.buffer_floats)

    @property
    def floats(self) -> int:
        tail = self.buffer_floats + self.int_count + len(self.parameters)
        return max(1, self.gradient_floats + tail)

    def attach(self, worker: Any, slots: int) -> None:
        """Moves all values into the arena."""
        region = torch.frombuffer(worker.parameters(), dtype=torch.float32)
        self.slots = [torch.frombuffer(worker.slot(i), dtype=torch.float32) for i in range(slots)]
        with torch.no_grad():
            for parameter, offset in zip(self.parameters, self.offsets):
                self.move(parameter, region, offset)
        self.buffers = region[self.gradient_floats :]
        self.float_holders = self.hold(self.float_names, self.buffers, self.buffer_offsets)
        self.ints = torch.zeros(self.int_count, dtype=torch.int64)
        ends = torch.tensor([0] + [self.tensor_of(b).numel() for b in self.int_names]).cumsum(0)
        self.int_holders = self.hold(self.int_names, self.ints, ends.tolist())
        self.gradients = [
            [
                slot[offset : offset + parameter.numel()].view_as(parameter)
                for parameter, offset in zip(self.parameters, self.offsets)
            ]
            for slot in self.slots
        ]
        begin = self.gradient_floats
        end = begin + self.buffer_floats
        self.slot_buffers = [slot[begin:end] for slot in self.slots]
        self.slot_growths = [slot[end : end + self.int_count] for slot in self.slots]
        self.slot_presences = [slot[end + self.int_count :] for slot in self.slots]
        self.buffers_before = self.buffers.clone()
        self.ints_before = self.ints.clone()
        self.point_at(0)

    @staticmethod
    def move(tensor: Tensor, region: Tensor, offset: int) -> None:
        view = region[offset : offset + tensor.numel()].view(tensor.shape)
        view.copy_(tensor.data)
        tensor.data = view

    def hold(
        self, names: Sequence[Any], region: Tensor, offsets: Sequence[int]
    ) -> List[Holder]:
        holders = []
        for buffer, offset in zip(names, offsets):
            tensor = self.tensor_of(buffer)
            self.move(tensor, region, offset)
            holders.append(Holder(buffer[0], buffer[1], tensor))
        return holders

    def point_at(self, slot: int) -> None:
        """From now on gradients are added up in this slot."""
        self.slot = slot
        for index, parameter in enumerate(self.parameters):
            wanted = None if index in self.unused else self.gradients[slot][index]
            if parameter.grad is not wanted:
                parameter.grad = wanted

    def clear(self, slot: int) -> None:
        self.slots[slot].zero_()

    def zero_gradients(self) -> None:
        """What `zero_grad` means here: the gradients stay where they are."""
        self.slots[self.slot][: self.gradient_floats].zero_()
        self.point_at(self.slot)

    def expect_gradients(self, slot: int) -> None:
        """The next backward pass makes new ones: moving them is cheaper than adding to zeros."""
        self.slot = slot
        for parameter in self.parameters:
            parameter.grad = None

    def keep_buffers(self) -> None:
        """Remembers the buffers, from which every shard of a step begins."""
        if self.float_holders:
            self.buffers_before.copy_(self.buffers)
        if self.int_holders:
            self.ints_before.copy_(self.ints)

    def restore_buffers(self) -> None:
        for holder in (*self.float_holders, *self.int_holders):
            holder.module._buffers[holder.name] = holder.view
        self.restore_values()

    def restore_values(self) -> None:
        """Of buffers that are where they should be."""
        if self.float_holders:
            self.buffers.copy_(self.buffers_before)
        if self.int_holders:
            self.ints.copy_(self.ints_before)

    def gather(self) -> None:
        """Makes the present slot complete, wherever the script has put its gradients."""
        with torch.no_grad():
            self.gather_gradients()
            for holder in (*self.float_holders, *self.int_holders):
                present = holder.module._buffers[holder.name]
                if present is not holder.view:  # `self.count = self.count + 1` makes a new tensor.
                    holder.view.copy_(present)
                    holder.module._buffers[holder.name] = holder.view
            if self.float_holders:
                self.slot_buffers[self.slot].copy_(self.buffers)
            if self.int_holders:
                self.slot_growths[self.slot].copy_(self.ints.sub_(self.ints_before))

    def gather_gradients(self) -> None:
        views = self.gradients[self.slot]
        for index, parameter in enumerate(self.parameters):
            gradient = parameter.grad
            view = views[index]
            if gradient is view:
                continue
            if gradient is None:
                view.zero_()
            else:
                if gradient.layout != torch.strided:
                    raise TypeError("gradients are sparse")
                view.copy_(gradient)
            if index not in self.unused:
                parameter.grad = view
        if self.unused:
            presence = self.slot_presences[self.slot]
            for index in self.unused:
                presence[index] = float(self.parameters[index].grad is not None)

    def spread(self) -> None:
        """Takes over what the reduction has left in slot 0; gradients are then ready to apply."""
        with torch.no_grad():
            if self.float_holders:
                self.buffers.copy_(self.slot_buffers[0])
            if self.int_holders:
                self.ints.copy_(self.slot_growths[0].round()).add_(self.ints_before)
            if self.unused:
                presence = self.slot_presences[0]
                for index in [i for i in self.unused if presence[i] > 0]:
                    del self.unused[index]
        self.point_at(0)

    def state(self) -> Dict[str, Any]:
        return {"ints": self.ints, "others": self.others, "unused": list(self.unused)}

    def take_over(self, state: Dict[str, Any]) -> None:
        """Another worker's; the arena's region has been handed over already."""
        if [t.shape for t in self.others] != [t.shape for t in state["others"]]:
            raise ValueError("the workers have different modules beside the one they train")
        with torch.no_grad():
            self.ints.copy_(state["ints"])
            for tensor, other in zip(self.others, state["others"]):
                tensor.copy_(other)
        self.unused = dict.fromkeys(state["unused"], True)
        self.keep_buffers()
        self.restore_buffers()
        self.point_at(self.slot)
