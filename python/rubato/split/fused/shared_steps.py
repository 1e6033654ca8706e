"""All that a leader knows of gradients that are pending and of optimizers' steps that its replicas
help with. This is also where shared calls leave their parts' gradients."""

import os
import threading
import time
import weakref
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from rubato import _core
from rubato.split.fused import graph, kernels
from rubato.split.fused.blocks import Blocks
from rubato.split.fused.gradients import GradientGroup, is_plain, layout, why_not
from rubato.split.fused.plans import Plans
from rubato.split.part import GRAD

SHARED_FLOATS_MIN = 64 << 10  # Below, waking replicas takes longer than the step.
HOLDER_SECONDS_MAX = 30.0  # A replica that holds a piece for so long is ended.
GROUPS_MAX = 64  # Roots with pending gradients.
REGROUPINGS_MAX = 8  # Of the same parameters, in roots that share them.


class SharedSteps:
    """Of one process. What a fork of it does is plain torch, but for `put` in replicas."""

    def __init__(self, controller: Any) -> None:
        self.controller = controller
        self.lock = threading.RLock()  # A script may look at gradients from other threads.
        self.is_forking = False
        self.blocks: Any = None
        self.queue: Any = None
        self.work = _core.split.StepWork()
        self.is_fused: Optional[bool] = None
        self.is_possible: Optional[bool] = None  # Nothing: not looked yet.
        self.groups: List[GradientGroup] = []
        self.owners: Dict[int, GradientGroup] = {}  # By id of the parameter.
        self.roots: Dict[int, Any] = {}  # By id of the group: its module.
        self.refused: set = set()  # Roots whose parameters cannot be grouped.
        self.regroupings = 0
        self.version = 0  # Of the groups.
        self.plans = Plans(self)
        self.claimed: List[Any] = []  # Calls of the backward that runs.
        self.internal = 0  # Above 0: torch's own code looks at gradients, not the script.
        self.reads: Dict[int, Any] = {}  # Parameters whose gradients the script has looked at.
        self.covered_key: Any = None  # Parameters that groups cover wholly, as last asked for,
        self.covered_groups: List[GradientGroup] = []  # and these groups.
        self.layouts: Dict[int, Tuple[Any, List[int], List[int]]] = {}  # In replicas, by root.
        self.taken = 0  # Steps by our kernels; for tests.
        self.helped = 0  # Those that replicas helped with.

    # Memory and kernels.

    def start(self) -> bool:
        """Whether our kernels can be used; looked at when first asked for."""
        if self.is_possible is None:
            self.is_fused = kernels.matching_kind()
            self.is_possible = self.is_fused is not None and _core.split.DictTags.supported
            if self.is_fused is None:
                self.controller.notices.tell(
                    "optimizer kernels",
                    "optimizers take their steps in torch's own way: its results on this processor"
                    " are not those that Rubato's kernels give")
        return self.is_possible

    def before_fork(self) -> None:
        """A fork sees gradients as they should be, and replicas know the queue."""
        if not self.controller.is_leader or threading.get_ident() != self.controller.thread:
            return
        # Else another thread might have it, which the fork does not have.
        self.lock.acquire()
        self.is_forking = True
        self.settle()
        memory = self.controller.memory
        if memory is not None and self.queue is None:
            self.blocks = Blocks(self.controller)
            queue = _core.split.PieceQueue
            self.queue = queue(memory.region, memory.allocate(queue.footprint()))

    def after_fork(self) -> None:
        """In both processes."""
        if self.is_forking:
            self.is_forking = False
            self.lock.release()

    def is_in_region(self, tensor: torch.Tensor) -> bool:
        region = self.controller.memory.region
        return 0 <= tensor.data_ptr() - region.address < region.size

    # Shared calls.

    def claim(self, tensor: torch.Tensor) -> None:
        """Before a backward: its calls whose gradients may stay pending."""
        self.claimed = []
        # A replica that is no fork has no areas to leave gradients in.
        is_possible = (self.controller.outstanding and self.queue is not None
                       and not self.controller.group.is_by_value)
        if is_possible and self.start():
            self.claimed = [call for call in graph.calls_below(tensor)
                            if not call.is_released and self.group_of(call) is not None]
        kept = {id(self.owners[id(call.parameters[0])]) for call in self.claimed}
        for group in self.groups:
            if group.is_unsettled and id(group) not in kept:
                group.settle()

    def group_of(self, call: Any) -> Optional[GradientGroup]:
        """The group of a call's parameters; made if there is none."""
        parameters = call.parameters
        root = call.root.number
        if not parameters or root in self.refused or self.controller.faults.factor:
            return None
        found = self.owners.get(id(parameters[0]))
        if found is not None and len(found.parameters) == len(parameters) and all(
                [one is other for one, other in zip(found.parameters, parameters)]):
            return found
        return self.make_group(call)

    def make_group(self, call: Any) -> Optional[GradientGroup]:
        self.drop_dead_groups()
        parameters = call.parameters
        others = {id(self.owners[id(p)]): self.owners[id(p)]
                  for p in parameters if id(p) in self.owners}
        self.regroupings += bool(others)
        if (why_not(parameters) or len(self.groups) >= GROUPS_MAX
                or self.regroupings > REGROUPINGS_MAX):
            self.refused.add(call.root.number)
            return None
        for group in others.values():
            self.drop(group)
        try:
            group = GradientGroup(self, parameters)
        except MemoryError:
            self.refused.add(call.root.number)
            return None
        self.groups.append(group)
        self.owners.update(dict.fromkeys(group.ids, group))
        self.roots[id(group)] = weakref.ref(call.module)
        self.version += 1
        return group

    def drop_dead_groups(self) -> None:
        for group in list(self.groups):
            if self.roots[id(group)]() is None:
                self.drop(group)

    def drop(self, group: GradientGroup) -> None:
        group.settle()
        self.groups.remove(group)
        del self.roots[id(group)]
        for key in group.ids:
            del self.owners[key]
        self.version += 1
        self.covered_key, self.covered_groups = None, []

    def begin(self, call: Any) -> Optional[List[int]]:
        """Where the parts of a backward leave their gradients; nothing if autograd wants them."""
        if not any(call is claimed for claimed in self.claimed):
            return None
        group = self.owners[id(call.parameters[0])]
        areas = group.begin(call)
        if areas is None:
            group.settle()  # Autograd adds to what it finds.
        return areas

    def put(self, parameters: Sequence[torch.Tensor], gradients: Sequence[Optional[torch.Tensor]],
            area: int) -> bool:
        """Copies a part's gradients to its area; false if there is not one for each parameter."""
        begins, counts = self.layout_of(parameters)
        kept = []
        for gradient, count in zip(gradients, counts):
            if gradient is None or not (gradient.dtype == torch.float32
                                        and gradient.layout == torch.strided
                                        and gradient.numel() == count):
                return False
            kept.append(gradient if is_plain(gradient) else gradient.contiguous())
        _core.split.gather_floats(self.controller.memory.region.address + area, begins,
                                  [gradient.data_ptr() for gradient in kept], counts)
        return True

    def layout_of(self, parameters: Sequence[torch.Tensor]) -> Tuple[List[int], List[int]]:
        key = id(parameters)
        known = self.layouts.get(key)
        if known is None or known[0] is not parameters:
            begins, _ = layout(parameters)
            known = (parameters, begins, [parameter.numel() for parameter in parameters])
            if len(self.layouts) >= GROUPS_MAX:
                self.layouts.clear()
            self.layouts[key] = known
        return known[1], known[2]

    def finish(self, call: Any, rest: Sequence[Optional[List[Any]]]) -> Optional[List[List[Any]]]:
        """After a backward: nothing, or gradients by part that autograd has to add up."""
        return self.owners[id(call.parameters[0])].finish(rest)

    def settle(self) -> None:
        """Makes every `grad` what it should be."""
        for group in self.groups:
            if group.is_unsettled:
                group.settle()

    # Steps.

    def run(self, group: GradientGroup, table: Any, may_share: bool) -> None:
        """The common work on the pieces of a table, together with replicas that are idle. Under
        the lock."""
        helpers = self.helpers(group) if may_share else []
        if not helpers or table.floats < SHARED_FLOATS_MIN:
            table.run_alone(self.work, self.is_fused)
            return
        self.helped += 1
        until = time.monotonic() + HOLDER_SECONDS_MAX
        by_rank = {replica.rank: replica for replica in helpers}

        def is_alive(rank: int) -> bool:
            replica = by_rank[rank]
            if time.monotonic() > until:
                replica.stop()
            return replica.is_alive()

        self.queue.run(table, self.work, self.is_fused,
                       [replica.mailbox for replica in helpers], is_alive)

    def helpers(self, group: GradientGroup) -> List[Any]:
        """The replicas, if all of them see what the pieces point to."""
        replicas = self.controller.group.replicas
        if not replicas or len(replicas) != len(group.helpers) or any(
                [one is not other for one, other in zip(replicas, group.helpers)]):
            return []
        if any(replica.is_dead for replica in replicas) or not group.is_mapped():
            return []
        return list(replicas)

    # Looks at gradients.

    def was_read(self, parameter: Any) -> bool:
        known = self.reads.get(id(parameter))
        return known is not None and known() is parameter

    def on_read(self, parameter: Any) -> Optional[torch.Tensor]:
        """Somebody looks at a gradient, and may keep it if there is one."""
        group = self.owners.get(id(parameter))
        if group is not None and group.is_unsettled:
            group.settle()
        gradient = GRAD.__get__(parameter)
        if gradient is not None and not self.internal:
            if group is not None:
                group.is_read = True
            elif not self.was_read(parameter):
                self.reads[id(parameter)] = weakref.ref(parameter)
        return gradient

    def on_assigned(self, parameter: Any) -> None:
        """Somebody puts another gradient in the place of this one."""
        group = self.owners.get(id(parameter))
        if group is not None:
            group.settle()
            group.base = type(group.base).FOREIGN

    def covered(self, parameters: Sequence[Any]) -> Tuple[List[GradientGroup], List[Any]]:
        """Groups of which all parameters are given, and the given parameters of none of them."""
        key = (self.version, tuple(map(id, parameters)))
        if key == self.covered_key:  # Groups hold their parameters, so ids are not used again.
            return self.covered_groups, []
        groups, rest = self.look_up_covered(parameters, set(key[1]))
        if not rest:
            self.covered_key, self.covered_groups = key, groups
        return groups, rest

    def look_up_covered(self, parameters: Sequence[Any],
                        ids: set) -> Tuple[List[GradientGroup], List[Any]]:
        groups: Dict[int, GradientGroup] = {}
        for key in ids:
            group = self.owners.get(key)
            if group is not None and group.ids <= ids:
                groups[id(group)] = group
        rest = [parameter for parameter in parameters
                if id(self.owners.get(id(parameter))) not in groups]
        return list(groups.values()), rest


def is_enabled() -> bool:
    return os.environ.get("RUBATO_FUSED_STEP", "1") != "0"
