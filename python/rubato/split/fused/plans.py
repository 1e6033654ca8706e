"""How the step of an optimizer is taken by our kernels.

A plan is made of an optimizer that has taken a step of its own, so that its state is there. It
holds as long as state, parameters and groups of parameters are the same objects at the same
addresses; what may change at any time (learning rates and the like) is read at every step.
"""

import sys
import weakref
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from rubato import _core
from rubato.split.fused.blocks import FLOAT_BYTES, tensors_in
from rubato.split.fused.gradients import GradientGroup, is_plain, layout, raise_versions
from rubato.split.fused.kernels import set_settings
from rubato.split.part import GRAD

KINDS = (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW)
UNKNOWN_FLAGS = ("maximize", "foreach", "capturable", "differentiable", "amsgrad", "fused")
NUMBERS = {torch.optim.SGD: ("lr", "momentum", "dampening", "weight_decay"),
           torch.optim.Adam: ("lr", "eps", "weight_decay"),
           torch.optim.AdamW: ("lr", "eps", "weight_decay")}
STATE = {torch.optim.SGD: ("momentum_buffer",), torch.optim.Adam: ("exp_avg", "exp_avg_sq"),
         torch.optim.AdamW: ("exp_avg", "exp_avg_sq")}
# References to a tensor of the state: the state's own, a variable, and the count's argument.
OWN_REFERENCES = 3


class Member:
    """A parameter that an optimizer has taken steps of."""

    def __init__(self, parameter: Any, number: int, state: Dict[str, Any]) -> None:
        self.parameter = parameter
        self.settings = number + 1  # Of its group of parameters; 0 is no update.
        self.state = state
        self.tensors: List[Optional[torch.Tensor]] = [None, None]

    def addresses(self) -> List[int]:
        return [0 if tensor is None else tensor.data_ptr() for tensor in self.tensors]


def members_of(optimizer: Any) -> Optional[Tuple[List[Member], List[Any]]]:
    """The parameters with state, and those that have never had a gradient; nothing if our kernels
    do not know what this optimizer does."""
    kind = type(optimizer)
    if kind not in KINDS or len(optimizer.param_groups) > _core.split.SETTINGS_MAX:
        return None
    members, unused = [], []
    for number, group in enumerate(optimizer.param_groups):
        if not has_known_settings(kind, group):
            return None
        for parameter in group["params"]:
            if not is_plain(parameter) or parameter.numel() == 0:
                return None
            state = optimizer.state.get(parameter)
            if not state:
                unused.append(parameter)
                continue
            member = Member(parameter, number, state)
            if not find_state(kind, group, member):
                return None
            members.append(member)
    if not members or len({id(member.parameter) for member in members}) != len(members):
        return None
    return members, unused


def has_known_settings(kind: type, group: Dict[str, Any]) -> bool:
    if any(group.get(flag) for flag in UNKNOWN_FLAGS):
        return False
    numbers = [group.get(name) for name in NUMBERS[kind]]
    if kind is not torch.optim.SGD:
        betas = group.get("betas")
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            return False
        numbers.extend(betas)
    return all(isinstance(number, (int, float)) for number in numbers)


def find_state(kind: type, group: Dict[str, Any], member: Member) -> bool:
    """Sets the state's tensors of a member; false if they are not as torch makes them."""
    state, shape = member.state, member.parameter.shape
    if kind is torch.optim.SGD:
        buffer = state.get("momentum_buffer")
        if (buffer is None) != (group["momentum"] == 0):
            return False
        member.tensors = [buffer, None]
    else:
        count = state.get("step")
        if not isinstance(count, torch.Tensor) or not is_plain(count) or count.numel() != 1:
            return False
        member.tensors = [state.get("exp_avg"), state.get("exp_avg_sq")]
        if None in member.tensors or "max_exp_avg_sq" in state:
            return False
    return all(tensor is None or (type(tensor) is torch.Tensor and is_plain(tensor)
                                  and tensor.shape == shape) for tensor in member.tensors)


class Plan:
    """Of one optimizer. Raises MemoryError if shared memory is used up."""

    def __init__(self, steps: Any, optimizer: Any, members: List[Member],
                 unused: List[Any]) -> None:
        self.steps = steps
        self.version = steps.version
        self.kind = type(optimizer)
        self.members, self.unused = members, unused
        self.by_id = {id(member.parameter): member for member in members}
        self.groups = self.find_groups()
        in_groups = set().union(*[group.ids for group in self.groups])
        self.is_all_in_groups = not unused and in_groups >= set(self.by_id)
        self.is_shared = {id(group): self.share_state(group) for group in self.groups}
        self.tables = [group.table([self.entry(parameter) for parameter in group.parameters])
                       for group in self.groups]
        # For gradients that lie elsewhere; where, is told at every step.
        self.own_table = _core.split.StepTable(
            [(member.parameter.data_ptr(), 0, *member.addresses(), 0, member.parameter.numel(),
              member.settings) for member in members])
        counts = [member.state["step"] for member in members if "step" in member.state]
        self.first_counts = {member.settings: member.state.get("step")
                             for member in reversed(members)}
        self.empty = [member.parameter.detach().view(-1)[:0] for member in members]
        self.state = optimizer.state
        self.tags = _core.split.DictTags(
            [optimizer.state, *[member.state for member in members]])
        self.lists = [list(group["params"]) for group in optimizer.param_groups]
        self.tensors = counts + [
            tensor for member in members
            for tensor in (member.parameter, *member.tensors) if tensor is not None]
        self.addresses = [tensor.data_ptr() for tensor in self.tensors]
        self.count_addresses = self.addresses[:len(counts)]

    def find_groups(self) -> List[GradientGroup]:
        found: Dict[int, GradientGroup] = {}
        for member in self.members:
            group = self.steps.owners.get(id(member.parameter))
            if group is not None:
                found[id(group)] = group
        return list(found.values())

    def entry(self, parameter: Any) -> Tuple[int, int, int]:
        """State and settings of a group's parameter; no update if it is not this optimizer's."""
        member = self.by_id.get(id(parameter))
        return (0, 0, 0) if member is None else (*member.addresses(), member.settings)

    def share_state(self, group: GradientGroup) -> bool:
        """Moves the state of a group's parameters to shared memory, unless somebody holds it and
        would notice. Whether replicas may help."""
        members = [self.by_id[key] for key in group.ids if key in self.by_id]
        names = STATE[self.kind]
        missing = []
        for member in members:
            for number, name in enumerate(names):
                tensor = member.tensors[number]
                if tensor is None or self.steps.is_in_region(tensor):
                    continue
                member.tensors[number] = None
                is_held = sys.getrefcount(tensor) > OWN_REFERENCES
                member.tensors[number] = tensor
                if is_held:
                    return False
                missing.append((member, number, name))
        like = [member.tensors[number] for member, number, _ in missing]
        begins, floats = layout(like)
        if missing:
            block = self.steps.blocks.take(FLOAT_BYTES * floats)
            with torch.no_grad():
                for (member, number, name), new in zip(missing, tensors_in(block, begins, like)):
                    new.copy_(member.tensors[number])
                    member.tensors[number] = member.state[name] = new
        return True

    # A step.

    def is_current(self, optimizer: Any) -> bool:
        """Everything is where it was when the plan was made."""
        if (self.version != self.steps.version or optimizer.state is not self.state
                or not self.tags.unchanged()
                or len(optimizer.param_groups) != len(self.lists)):
            return False
        for group, members in zip(optimizer.param_groups, self.lists):
            parameters = group["params"]
            if (len(parameters) != len(members) or not all(map(is_same_object, parameters, members))
                    or not has_known_settings(self.kind, group)):
                return False
            if self.kind is torch.optim.SGD and not self.has_momentum_as_before(group):
                return False
        return [tensor.data_ptr() for tensor in self.tensors] == self.addresses

    def has_momentum_as_before(self, group: Dict[str, Any]) -> bool:
        member = next((self.by_id[id(p)] for p in group["params"] if id(p) in self.by_id), None)
        return member is None or (member.tensors[0] is not None) == (group["momentum"] != 0)

    def run(self, optimizer: Any) -> bool:
        """Takes the step; false, and nothing has happened, if torch has to do it."""
        with self.steps.lock:
            tables, gradients = self.gradients()
            if gradients is None:
                return False
            self.update(optimizer, tables, gradients)
        _core.split.increment_floats(self.count_addresses)
        raise_versions(self.empty)
        self.steps.taken += 1
        return True

    def update(self, optimizer: Any, tables: List[Any], gradients: List[int]) -> None:
        self.set_settings(optimizer)
        for group, table in tables:
            group.update(table, self.is_shared[id(group)])
        if any(gradients):
            self.own_table.set_gradients(gradients)
            work = self.steps.work
            work.set_parts(2, [])
            work.set_scale(None)
            self.own_table.run_alone(work, self.steps.is_fused)
        self.steps.work.clear_settings()

    def gradients(self) -> Tuple[List[Any], Optional[List[int]]]:
        """Groups of which gradients lie in shared memory, and the addresses of all others, 0 for
        those of the groups. Nothing if some gradient is not as our kernels want it."""
        tables = [(group, table) for group, table in zip(self.groups, self.tables)
                  if group.has_gradients()]
        if self.is_all_in_groups and len(tables) == len(self.groups):
            return tables, []
        covered = set().union(*[group.ids for group, _ in tables])
        addresses = []
        for member in self.members:
            parameter = member.parameter
            if id(parameter) in covered:
                addresses.append(0)
                continue
            gradient = GRAD.__get__(parameter)
            if (gradient is None or type(gradient) is not torch.Tensor or not is_plain(gradient)
                    or gradient.shape != parameter.shape):
                return [], None
            addresses.append(gradient.data_ptr())
        for parameter in self.unused:
            if id(parameter) in covered or GRAD.__get__(parameter) is not None:
                return [], None
        return tables, addresses

    def set_settings(self, optimizer: Any) -> None:
        for number, group in enumerate(optimizer.param_groups, 1):
            count = self.first_counts.get(number)
            step = 1.0 if count is None else count.item() + 1.0
            set_settings(self.steps.work, number, self.kind, group, step)


def is_same_object(one: Any, other: Any) -> bool:
    return one is other


def has_equal_counts(members: Sequence[Member]) -> bool:
    """The members of a group of parameters have taken the same number of steps."""
    counts: Dict[int, float] = {}
    for member in members:
        count = member.state.get("step")
        if count is not None and counts.setdefault(member.settings, count.item()) != count.item():
            return False
    return True


def make_plan(steps: Any, optimizer: Any) -> Optional[Plan]:
    found = members_of(optimizer)
    if found is None or not has_equal_counts(found[0]):
        return None
    try:
        return Plan(steps, optimizer, *found)
    except MemoryError:
        return None


class Plans:
    """Of all optimizers that are left."""

    TRIES_MAX = 20  # Beyond, an optimizer without a plan is looked at now and then only.
    TRIES_EVERY = 100

    def __init__(self, steps: Any) -> None:
        self.steps = steps
        self.plans: Any = weakref.WeakKeyDictionary()
        self.tries: Any = weakref.WeakKeyDictionary()

    def current(self, optimizer: Any) -> Optional[Plan]:
        plan = self.plans.get(optimizer)
        if plan is not None and plan.is_current(optimizer):
            return plan
        if plan is None and not self.is_due(optimizer):
            return None
        plan = None  # It would seem to hold the state.
        self.plans.pop(optimizer, None)
        if not optimizer.state:
            return None
        plan = make_plan(self.steps, optimizer)
        if plan is not None:
            self.plans[optimizer] = plan
        return plan

    def is_due(self, optimizer: Any) -> bool:
        tries = self.tries[optimizer] = self.tries.get(optimizer, 0) + 1
        return tries <= self.TRIES_MAX or tries % self.TRIES_EVERY == 0
