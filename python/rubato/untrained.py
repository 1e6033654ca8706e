"""Tensors of a model that are neither trained nor statistics of a normalisation layer: frozen
parameters, and all other buffers.

They may change while training goes on, as a counter does, or a teacher that follows the model, but
must then change alike on every worker. Averaging them would be wrong: the mean of two queues of
samples is no queue. So each worker tells a tag made of their values after its part of a step; where
tags differ, the job is refused with the names of what has changed.

Whether a tensor has changed is read from its identity, address and version. In-place changes
through `.data` show in none of these; they are found by values, now and then, and from then on the
values are always looked at.
"""

import io
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from rubato import _core
from rubato.flat import is_statistic
from rubato.randomness import mixed

# Tensors with more elements are copied at every step only once they have been seen to change.
COPIED_ELEMENTS_MAX = 1 << 16
TAG_SHIFT = 12  # A tag is told as a double, which holds 53 bits exactly.

DIFFERENT = (
    "{} changed in a step and is not the same on all workers, each of which sees only its part of "
    "a batch. Only statistics of torch's normalisation layers are averaged. Keep such state out of "
    "the model, or train without rubato.Trainer: then the script runs in one process"
)


class Mark(NamedTuple):
    """Differs if a tensor was replaced, bound to other memory or changed in place."""

    tensor: Optional[Tensor]
    address: int
    version: int

    def is_same(self, other: "Mark") -> bool:
        return self.tensor is other.tensor and self[1:] == other[1:]


def mark_of(tensor: Optional[Tensor]) -> Mark:
    if tensor is None or tensor.layout != torch.strided or tensor.is_inference():
        return Mark(tensor, 0, 0)
    return Mark(tensor, tensor.data_ptr(), tensor._version)


def value_of(tensor: Optional[Tensor]) -> int:
    """A hash of type, shape and contents."""
    if tensor is None:
        return 0
    if tensor.layout != torch.strided or tensor.is_quantized:
        target = io.BytesIO()
        torch.save(tensor.detach(), target)
        return _core.content_hash(target.getbuffer())
    kind = f"{tensor.dtype} {list(tensor.shape)}".encode()
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    contents = _core.content_hash(flat.view(torch.uint8).numpy()) if flat.numel() else 0
    return mixed(_core.content_hash(kind), contents)


class Entry:
    """One tensor: a parameter, or what a module has under a name."""

    def __init__(self, module: torch.nn.Module, name: str, is_parameter: bool) -> None:
        self.names = module._parameters if is_parameter else module._buffers
        self.name = name
        self.value = 0
        self.valued = Mark(None, 0, 0)  # When the value was computed.
        self.kept = Mark(None, 0, 0)  # At the beginning of the step.
        self.copy: Optional[Tensor] = None  # As it was then.
        self.changes = False  # Has been seen to change in a step.
        self.changes_unmarked = False  # So that its mark stayed the same.

    @property
    def tensor(self) -> Optional[Tensor]:
        return self.names.get(self.name)

    def look(self, is_sure: bool) -> int:
        """The value of its contents; computed again if that may have changed."""
        tensor = self.tensor
        mark = mark_of(tensor)
        is_marked = not mark.is_same(self.valued)
        if is_sure or is_marked or self.changes_unmarked:
            value = value_of(tensor)
            self.changes_unmarked |= not is_marked and value != self.value
            self.value, self.valued = value, mark
        return self.value

    def keep(self, is_whole: bool) -> None:
        tensor = self.tensor
        mark = mark_of(tensor)
        if tensor is None:
            self.kept, self.copy = mark, None
            return
        is_copied = self.copy is not None and mark.is_same(self.kept) and not self.changes_unmarked
        self.kept = mark
        changes = is_whole or self.changes or self.changes_unmarked
        if tensor.numel() > COPIED_ELEMENTS_MAX and not changes:
            self.copy = None
        elif not is_copied:
            self.copy = tensor.detach().clone()

    @property
    def has_changed(self) -> bool:
        """Since `keep`, as far as `look` can tell."""
        return not mark_of(self.tensor).is_same(self.kept) or self.changes_unmarked

    def restore(self) -> None:
        if not self.has_changed:
            return
        self.changes = True
        kept = self.kept.tensor
        if kept is not None:
            if self.copy is None:
                raise ValueError(f"{self.name} changed for the first time in a step that has to be "
                                 "computed again, and its old values are not known")
            self.put_into(kept, self.copy)
        self.names[self.name] = kept
        self.kept = mark_of(kept)

    @staticmethod
    def put_into(tensor: Tensor, values: Tensor) -> None:
        with torch.no_grad():
            if tensor.shape == values.shape and tensor.dtype == values.dtype:
                tensor.copy_(values)
            else:
                tensor.data = values.clone()

    def take(self, values: Optional[Tensor]) -> None:
        """Another worker's."""
        if values is None or self.tensor is None:
            self.names[self.name] = values
        else:
            self.put_into(self.tensor, values)


class Untrained:
    """All such tensors of a model."""

    def __init__(self, model: torch.nn.Module, trained: List[Tensor]) -> None:
        self.model = model
        self.trained = {id(parameter) for parameter in trained}
        self.parameters = [id(parameter) for parameter in model.parameters()]
        self.entries: Dict[str, Entry] = {}
        self.values: List[int] = []  # That the last tag was made of.
        self.last_tag = 1
        self.is_sure = True  # Values are looked at in this step.
        self.add_entries()

    def found(self) -> Iterator[Tuple[str, torch.nn.Module, str, bool]]:
        """Name in the model, module, name there, and whether it is a parameter."""
        for path, module in self.model.named_modules():
            for name, parameter in module._parameters.items():
                if parameter is not None and id(parameter) not in self.trained:
                    yield f"{path}.{name}".lstrip("."), module, name, True
            for name in module._buffers:
                if not is_statistic(module, name):
                    yield f"{path}.{name}".lstrip("."), module, name, False

    def add_entries(self) -> None:
        for full, module, name, is_parameter in self.found():
            if full not in self.entries:
                self.entries[full] = Entry(module, name, is_parameter)

    def look_again(self) -> None:
        """At values instead of marks; all workers do so at the same steps. Raises ValueError if
        the model is not the one that is trained."""
        if [id(parameter) for parameter in self.model.parameters()] != self.parameters:
            raise ValueError("the model has other parameters than when the trainer was made: make "
                             "the trainer when the model is complete")
        self.add_entries()
        self.is_sure = True
        self.tag()

    def keep(self, is_whole: bool = False) -> None:
        """Remembers what every shard of a step begins with; all of it, or what may change."""
        for entry in self.entries.values():
            entry.keep(is_whole)

    def restore(self) -> None:
        for entry in self.entries.values():
            entry.restore()

    def tag(self) -> int:
        """Of all values; positive."""
        values = [entry.look(self.is_sure) for entry in self.entries.values()]
        if values != self.values:
            self.values = values
            self.last_tag = (mixed(*values) >> TAG_SHIFT) + 1
        return self.last_tag

    def end_step(self) -> None:
        self.is_sure = False
        for entry in self.entries.values():
            entry.changes = entry.changes or entry.has_changed

    def difference(self) -> str:
        """What to say if others have another tag."""
        changed = [name for name, entry in self.entries.items() if entry.has_changed]
        return DIFFERENT.format(", ".join(changed or ["state"]))

    def state(self) -> Dict[str, Optional[Tensor]]:
        return {full: (module._parameters if is_parameter else module._buffers)[name]
                for full, module, name, is_parameter in self.found()}

    def take_over(self, state: Dict[str, Optional[Tensor]]) -> None:
        modules = dict(self.model.named_modules())
        for full, values in state.items():
            path, _, name = full.rpartition(".")
            if full not in self.entries and path in modules:  # Made by a forward that came later.
                self.entries[full] = Entry(modules[path], name, False)
            if full not in self.entries:
                raise ValueError(f"this worker's model has no {full}, that of another one has")
            self.entries[full].take(values)
