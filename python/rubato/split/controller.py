"""The one object of a process that runs a script: what is shared, by whom, and how far it is."""

import hashlib
import json
import os
import threading
import time
from typing import Any, Callable, Dict, List, Optional

import torch
from torch import nn

from rubato.split import by_value, memory
from rubato.split.by_value_group import ByValueGroup
from rubato.split.faults import Faults
from rubato.split.fit import MemoryUse
from rubato.split.group import Group
from rubato.split.link import Link
from rubato.split.memory import WORKERS_MAX, Heap, Memory
from rubato.split.memory_limits import MemoryLimits
from rubato.split.notices import Notices
from rubato.split.roots import Root, is_lazy
from rubato.split.steps import StepCounter

VIRTUAL_PARTS = 8  # Of every batch in deterministic mode, whatever the number of workers.


class IdleWork:
    """What a replica does while it waits for a request; a plain wait unless others add to it."""

    def wait(self, mailbox: Any, timeout_us: int) -> Optional[bytes]:
        return mailbox.wait_request(timeout_us)


class Delivered:
    """Batches that lie in shared memory already; none unless a loader puts them there."""

    def place(self, whole: torch.Tensor, part: torch.Tensor) -> Any:
        return None


class GradientAreas:
    """Where parts leave gradients for an optimizer step that adds them up itself; not used unless
    such a step is installed."""

    def begin(self, call: Any) -> Optional[List[int]]:
        return None

    def put(self, parameters: Any, gradients: Any, area: int) -> bool:
        return False

    def finish(self, call: Any, rest: Any) -> Any:
        return rest

    def settle(self) -> None:
        pass


class Controller:
    """Of this process; a process that is neither leader nor replica leaves torch as it is."""

    def __init__(self) -> None:
        self.pid = 0  # Of the leader; 0: nothing is installed.
        self.thread = 0
        self.is_replica = False
        self.call_module: Callable[..., Any] = nn.Module.__call__
        self.depth = 0  # Above 0: inside a root module.
        self.part: Any = None  # That is being computed here.
        self.calls = 0  # That were shared.
        self.root_calls = 0  # All of them.
        self.left_to_children = 0  # Above 0: inside a root module whose call could not be shared.
        self.outstanding = 0  # Shared calls whose backward may come.
        self.target = 1  # Workers.
        self.target_step = -1  # Step for which the target was asked for.
        self.roots: Dict[int, Root] = {}
        self.roots_made = 0
        self.past_roots: List[Dict[str, Any]] = []  # Summaries of roots that are gone.
        self.memory: Optional[Memory] = None
        self.heap: Optional[Heap] = None
        self.memory_limits = MemoryLimits()
        self.memory_use = MemoryUse(self)
        self.steps = StepCounter()
        self.notices = Notices()
        self.link = Link(self)
        self.group = Group(self)
        self.has_chosen_group = False
        self.faults = Faults()
        self.idle_work: Any = IdleWork()
        self.delivered: Any = Delivered()
        self.gradient_areas: Any = GradientAreas()
        self.compute_on_parts: Optional[Callable[..., Any]] = None  # See output_losses.py.
        self.losses_on_parts = 0
        self.has_hooks = False  # The script has seen gradients of tensors inside the graph.
        self.asked_by_name = 0  # Above 0: it asks for such gradients now.
        self.failed_backwards = 0
        self.is_deterministic = os.environ.get("RUBATO_DETERMINISTIC", "0") not in ("", "0")
        # For tests: share also what is short, and where it does not pay.
        self.always_shares = bool(os.environ.get("RUBATO_SPLIT_ALWAYS"))
        self.at_boundary: List[Callable[[], None]] = []
        self.boundary_step = -1
        self.resizes: List[Dict[str, Any]] = []

    @property
    def is_leader(self) -> bool:
        return not self.is_replica and self.pid == os.getpid()

    def prepare(self) -> None:
        """Before the first fork."""
        if self.memory is None:
            memory.raise_descriptor_limit()
            self.memory = Memory(os.memfd_create("rubato replicas")
                                 if self.group.is_by_value else -1)
            self.heap = self.memory.heap(0)

    # Calls.

    def call(self, module: nn.Module, args: Any, kwargs: Any) -> Any:
        """In place of `nn.Module.__call__`."""
        if self.depth or not self.is_leader or threading.get_ident() != self.thread:
            return self.call_module(module, *args, **kwargs)
        if torch.jit.is_tracing():  # What others compute would be constants of the trace.
            return self.call_module(module, *args, **kwargs)
        root = self.roots.get(id(module))
        if root is None:
            root = self.roots[id(module)] = Root(self, module)
        if not root.has_parameters:
            return self.call_module(module, *args, **kwargs)
        if root.is_lazy:
            # It makes its parameters now. They are the script's own from the next call on.
            self.depth += 1
            try:
                return self.call_module(module, *args, **kwargs)
            finally:
                self.depth -= 1
                root.is_lazy = is_lazy(module)
        self.root_calls += 1
        if torch.is_grad_enabled():
            self.reach_boundary()
        return root.call(module, args, kwargs)

    def reach_boundary(self) -> None:
        """Once per step, where a step has ended and the next has not begun."""
        if self.at_boundary and self.steps.count != self.boundary_step:
            self.boundary_step = self.steps.count
            for function in self.at_boundary:
                function()

    @property
    def shows_gradients(self) -> bool:
        """Whether the script may see gradients of tensors inside the graph."""
        return self.has_hooks or self.asked_by_name > 0

    def loss_on_parts(self, name: str, given: Dict[str, Any]) -> Optional[torch.Tensor]:
        """One of torch's losses of a shared call's output; nothing if it is not computed there."""
        if self.compute_on_parts is None or not self.is_leader:
            return None
        return self.compute_on_parts(self, name, given)

    def forget_root(self, key: int) -> None:
        root = self.roots.pop(key, None) if not self.is_replica else None
        if root is not None and root.has_parameters:
            self.past_roots.append(root.summary())

    # Replicas.

    def workers(self) -> int:
        """As many as the next call is to be shared by. A change waits until the backwards of this
        step are done: replicas hold what they need."""
        if self.outstanding == 0 or self.steps.count != self.target_step:
            wanted = max(1, min(self.link.workers(self.root_calls), WORKERS_MAX))
            if wanted > 1 or self.is_deterministic:
                self.choose_group()
                # Tests and deterministic jobs must not depend on when a process is ready.
                wanted = self.group.available(wanted, self.is_deterministic or self.always_shares)
            self.target = wanted
            self.target_step = self.steps.count
        return self.target

    def choose_group(self) -> None:
        """Once, when replicas are first wanted: by then the script has chosen its devices."""
        if not self.has_chosen_group:
            self.has_chosen_group = True
            if by_value.is_needed():
                self.group = ByValueGroup(self)

    def root_numbered(self, number: int) -> Root:
        return next(root for root in self.roots.values() if root.number == number)

    def part_sizes(self, batch: int) -> List[int]:
        """Of the parts of a batch, as equal as can be."""
        parts = self.group.count + 1
        if self.is_deterministic:
            parts = min(batch, VIRTUAL_PARTS)
        return [batch // parts + (part < batch % parts) for part in range(parts)]

    def resize_group(self, workers: int) -> None:
        before = self.group.count + 1
        began = time.perf_counter()
        self.group.resize(workers - 1)
        pause = time.perf_counter() - began
        workers = self.group.count + 1
        if workers != before:
            self.resizes.append({"step": self.steps.count, "from": before, "to": workers,
                                 "pause": pause})
            self.link.resized(workers, pause, self.steps.count, f"resize to {workers}", False)

    def child_pids(self) -> List[int]:
        """Processes of ours that a copy of the leader does without."""
        audits = [root.audit.child for root in self.roots.values()]
        return self.group.pids() + [child.pid for child in audits if child is not None]

    def lose_replicas(self, phase: str) -> None:
        """A replica died in a call, which is then computed again."""
        before = self.group.count + 1
        began = time.perf_counter()
        self.group.lose()
        self.link.resized(1, time.perf_counter() - began, self.steps.count,
                          f"a replica of {before - 1} was lost in {phase}", True)

    def on_group_changed(self) -> None:
        self.link.replicas(self.group.pids())

    def become_replica(self) -> None:
        self.is_replica = True
        self.depth = 1
        self.part = None

    def become_leader(self) -> None:
        """A copy of the leader takes its place."""
        self.pid = os.getpid()
        self.is_replica = False
        self.group.replicas = []
        self.group.prints = {}
        self.group.give_up_exchanges()
        self.on_group_changed()

    def report(self) -> Dict[str, Any]:
        roots = self.past_roots + [
            root.summary() for root in self.roots.values() if root.has_parameters]
        return {"steps": self.steps.count, "roots": roots, "resizes": self.resizes,
                "replica_deaths": self.group.deaths, "losses_on_parts": self.losses_on_parts,
                "memory": self.memory_use.report(),
                "notices": list(self.notices.told.values())}

    def at_exit(self) -> None:
        if not self.is_leader:
            return
        for root in self.roots.values():
            root.tell_at_end()
        path = os.environ.get("RUBATO_SPLIT_REPORT")
        if path:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(self.report(), file)
        self.link.finish(self.parameter_hash())
        self.link.close()
        self.group.stop()

    def parameter_hash(self) -> int:
        """Of all root modules that are left."""
        digest = hashlib.blake2b(digest_size=8)
        for root in sorted(self.roots.values(), key=lambda root: root.number):
            module = root.module()
            for parameter in module.parameters() if module is not None and not root.is_lazy else ():
                if parameter.device.type == "cpu" and parameter.layout == torch.strided:
                    digest.update(parameter.detach().contiguous().view(-1).view(torch.uint8)
                                  .numpy().data)
        return int.from_bytes(digest.digest(), "little")


CONTROLLER = Controller()
