"""Replicas that are fresh interpreters, as their leader sees them.

They are started in the background: until they have loaded torch, calls are shared by fewer
workers. A root module is sent to each of them once, and again when it has changed in ways that a
list of attributes cannot tell; its parameters and buffers are sent before a call if they may have
changed since.
"""

import os
import subprocess
import sys
import time
import weakref
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch
from torch import nn
from torch.utils._pytree import TreeSpec

from rubato.split import by_value, fingerprint
from rubato.split.by_value import CannotPack, Packed
from rubato.split.fingerprint import Fingerprint
from rubato.split.group import REPLY_FACTOR_MAX, REPLY_US, Group, Replica
from rubato.split.memory import WORKERS_MAX, Place, tensors_of
from rubato.split.part import ReplicaLost, Settings
from rubato.split.child import REHEARSAL_SECONDS_MAX
from rubato.split.rehearsal import Verdict
from rubato.split.replica import ForwardRequest, Reply
from rubato.split.verification import why_different

START_SECONDS_MAX = 120.0  # Until a replica has loaded torch.
RESET_SECONDS_MAX = 10.0  # For replicas to come out of a call that was given up.
HELLO = b"ready"  # The first message of a replica.
LOST_REHEARSALS_MAX = 3  # In which replicas died, before what they tried out is to blame.
STARTS_MAX = 20  # Of processes that did not come to life.
# Variables of the leader that mean nothing to a replica, or would make it a leader.
LEADERS_VARIABLES = ("RUBATO_SPLIT_PLAN", "RUBATO_SPLIT_REPORT", "RUBATO_SPLIT_KILL",
                     "RUBATO_SCRIPT", "RUBATO_CONDUCTOR", "RUBATO_WORKER", "RUBATO_TOKEN")


class RootMessage(NamedTuple):
    """A root module by value."""

    root: int
    module: Packed


class TensorUpdate(NamedTuple):
    """New values of parameters and buffers, by their place in `tensors_of`; needs no reply."""

    root: int
    values: List[Tuple[int, Place]]


class RehearsalRequest(NamedTuple):
    """Module, structure of the arguments, arguments and settings of a call to be tried out."""

    call: Packed


def visible_devices() -> List[str]:
    """Names of the leader's devices, its own first."""
    count = torch.cuda.device_count() if torch.cuda._is_compiled() else 0
    names = os.environ.get("CUDA_VISIBLE_DEVICES")
    listed = [str(at) for at in range(count)] if names is None else names.split(",")[:count]
    own = torch.cuda.current_device() if count and torch.cuda.is_initialized() else 0
    return listed[own:] + listed[:own]


def environment_of(rank: int) -> Dict[str, str]:
    """Of a replica: it sees one device, another one than the leader's as long as there are any."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in LEADERS_VARIABLES}
    devices = visible_devices()
    if devices:
        environment["CUDA_VISIBLE_DEVICES"] = devices[rank % len(devices)]
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    environment["PYTHONPATH"] = os.pathsep.join([*paths, package])
    return environment


class ByValueReplica(Replica):
    """One of them."""

    def __init__(self, controller: Any, rank: int) -> None:  # Not a fork: no super().__init__.
        self.rank = rank
        self.is_dead = False
        self.signal = 0
        self.dropped: List[int] = []
        self.mailbox = controller.memory.mailboxes[rank]
        self.mailbox.reset()
        self.has_said_hello = False
        self.kind = ""  # Of its machine.
        self.group: Any = None
        self.unanswered = 0
        self.roots: Set[int] = set()
        self.verified: Set[Any] = set()
        self.versions: Dict[Tuple[int, int], Any] = {}  # Of tensors, by root and place.
        self.started = time.monotonic()
        shown = None if os.environ.get("RUBATO_SPLIT_DEBUG") else subprocess.DEVNULL
        descriptor = controller.memory.descriptor
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rubato.split.by_value_replica", str(descriptor), str(rank)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=shown,
            env=environment_of(rank), pass_fds=[descriptor])
        self.pid = self.process.pid
        self.process.returncode = 0  # It is waited for by its number.

    def is_ready(self) -> bool:
        if not self.has_said_hello:
            self.has_said_hello = self.mailbox.wait_reply(0) is not None
        return self.has_said_hello

    def request(self, message: Any) -> None:
        if isinstance(message, ForwardRequest):
            update = self.group.update_for(self, message)
            if update is not None:
                super().request(update)
        super().request(message)
        self.unanswered += 1

    def reply(self, expected_seconds: float) -> Reply:
        reply = super().reply(expected_seconds)
        self.unanswered -= 1
        return reply

    def has_finished(self, until: float) -> bool:
        """Whether it answers all that was asked, in time."""
        while self.unanswered > 0:
            if self.mailbox.wait_reply(REPLY_US) is not None:
                self.unanswered -= 1
            elif not self.is_alive() or time.monotonic() > until:
                return False
        return self.is_alive()


class ByValueGroup(Group):
    """The replicas that are ready, and those that are not yet."""

    is_by_value = True

    def __init__(self, controller: Any) -> None:
        super().__init__(controller)
        self.starting: List[ByValueReplica] = []
        self.starts_failed = 0
        self.lost_rehearsals = 0
        self.staged_for = 0  # The call whose tensors lie in the heap already.
        self.staged: Dict[Tuple[int, int], Place] = {}
        self.changes = ChangeWatch()
        self.changes.install(controller)
        fingerprint.SEES_SHARED_MEMORY = False

    # Processes.

    def available(self, wanted: int, waits: bool) -> int:
        """So many workers can share a call now; the missing ones are started. A replica that died
        while it was idle is noticed in the call that needs it."""
        if by_value.cloudpickle is None:
            self.controller.notices.tell(
                "cloudpickle", "calls are not split: where a CUDA device is visible, replicas need "
                               "the package python3-cloudpickle, which is not installed")
            return 1
        self.starting = [replica for replica in self.starting if self.may_come(replica)]
        missing = min(wanted, WORKERS_MAX) - 1 - len(self.replicas) - len(self.starting)
        if missing > 0 and self.starts_failed < STARTS_MAX:
            self.controller.prepare()
            for _ in range(missing):
                self.starting.append(ByValueReplica(self.controller, self.free_rank()))
            self.controller.on_group_changed()
        while waits and any(not replica.is_ready() for replica in self.starting):
            time.sleep(REPLY_US * 1e-6)
            self.starting = [replica for replica in self.starting if self.may_come(replica)]
        ready = sum(replica.is_ready() for replica in self.starting)
        return max(1, min(wanted, 1 + len(self.replicas) + ready))

    def may_come(self, replica: ByValueReplica) -> bool:
        """False if a process will not come to life any more."""
        if replica.is_ready():
            return True
        is_late = time.monotonic() - replica.started > START_SECONDS_MAX
        if replica.is_alive() and not is_late:
            return True
        replica.stop()
        self.starts_failed += 1
        if self.starts_failed == STARTS_MAX:
            self.controller.notices.tell("by value", "replicas could not be started: calls are "
                                                     "not split")
        return False

    def free_rank(self) -> int:
        used = {replica.rank for replica in (*self.replicas, *self.starting)}
        return next(rank for rank in range(1, WORKERS_MAX) if rank not in used)

    def fork_until(self, count: int) -> None:
        for replica in list(self.starting):
            if len(self.replicas) < count and replica.is_ready():
                self.starting.remove(replica)
                replica.group = self
                self.replicas.append(replica)

    def stop(self) -> None:
        super().stop()
        for replica in self.starting:
            replica.stop()
        self.starting = []
        self.staged_for = 0

    def reset(self) -> None:
        """A process takes seconds to start: those that come out of the call are kept."""
        self.give_up_exchanges()
        until = time.monotonic() + RESET_SECONDS_MAX
        for replica in list(self.replicas):
            if not replica.has_finished(until):
                replica.stop()
                self.replicas.remove(replica)
        self.staged_for = 0
        self.controller.on_group_changed()

    def pids(self) -> List[int]:
        return [replica.pid for replica in (*self.replicas, *self.starting)]

    # What replicas know.

    def renew(self, root: int) -> None:
        """The module has changed: it is sent again, to the same processes."""
        self.prints.pop(root, None)
        for replica in self.replicas:
            replica.roots.discard(root)

    def note_changes(self, root: int, module: nn.Module, changes: Sequence[Any]) -> None:
        """Each root was sent by itself: no two of them have modules in common here."""

    def introduce(self, root: Any, module: nn.Module) -> Optional[str]:
        """Sends the module to all replicas that do not have it; why that cannot be, if so."""
        while True:
            try:
                return self.send_root(root, module)
            except ReplicaLost:  # While it was idle; the others stay.
                self.lose()

    def send_root(self, root: Any, module: nn.Module) -> Optional[str]:
        missing = [replica for replica in self.replicas if root.number not in replica.roots]
        if not missing:
            return None
        heap = self.controller.heap
        heap.clear()
        try:
            message = RootMessage(root.number, by_value.pack(module, heap))
        except CannotPack as error:
            return f"it cannot be sent to another process ({error})"
        versions = {(root.number, at): self.changes.version(tensor)
                    for at, tensor in enumerate(tensors_of(module))}
        for replica in missing:
            replica.request(message)
        for replica in missing:
            reply = replica.reply(START_SECONDS_MAX / REPLY_FACTOR_MAX)
            if reply.error:
                return ("it cannot be made in another process "
                        f"({reply.error.strip().splitlines()[-1][:200]})")
            replica.roots.add(root.number)
            replica.kind = reply.values[0]
            replica.verified = {key for key in replica.verified if key[0] != root.number}
            replica.versions.update(versions)
        self.prints[root.number] = Fingerprint(module, root.watched)
        return None

    def update_for(self, replica: ByValueReplica,
                   message: ForwardRequest) -> Optional[TensorUpdate]:
        """Values that the replica does not have yet; copied from the device once for all."""
        if self.staged_for != message.call:
            self.staged_for, self.staged = message.call, {}
        root = self.controller.root_numbered(message.root)
        needed: List[Tuple[int, Any, torch.Tensor]] = []
        for at, tensor in enumerate(tensors_of(root.module())):
            version = self.changes.version(tensor)
            if replica.versions.get((message.root, at)) != version:
                needed.append((at, version, tensor))
        missing = [(at, tensor) for at, _, tensor in needed
                   if (message.root, at) not in self.staged]
        places = self.controller.heap.put_all([tensor.detach() for _, tensor in missing])
        for (at, _), place in zip(missing, places):
            self.staged[message.root, at] = place
        for at, version, _ in needed:
            replica.versions[message.root, at] = version
        return TensorUpdate(message.root, [(at, self.staged[message.root, at])
                                           for at, _, _ in needed]) if needed else None

    # Checks.

    def rehearse(self, module: nn.Module, spec: TreeSpec, leaves: Sequence[Any],
                 settings: Settings) -> Verdict:
        """In a replica, on copies; a forked child could not compute."""
        ready = (replica for replica in (*self.replicas, *self.starting) if replica.is_ready())
        replica = next(ready, None)
        if replica is None:
            verdict = Verdict("no other process could try it out")
            verdict.is_final = False
            return verdict
        heap = self.controller.heap
        heap.clear()
        own = [leaf.detach().requires_grad_(leaf.requires_grad)
               if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        try:
            replica.request(RehearsalRequest(
                by_value.pack((module, spec, own, settings), heap)))
            reply = replica.reply(REHEARSAL_SECONDS_MAX / REPLY_FACTOR_MAX)
        except CannotPack as error:
            return Verdict(f"it cannot be sent to another process ({error})")
        except ReplicaLost:
            replica.stop()
            self.lose()
            self.lost_rehearsals += 1
            verdict = Verdict("it cannot be tried out (the check did not end in time, or died)")
            # It may have died before: then another replica can try it out at the next call.
            verdict.is_final = self.lost_rehearsals >= LOST_REHEARSALS_MAX
            return verdict
        if reply.error:
            return Verdict(f"it cannot be tried out ({reply.error.strip().splitlines()[-1][:200]})")
        return reply.values[0]

    def verify(self, call: Any, changes: Sequence[Any]) -> Optional[str]:
        """Compares the first computation of every replica with the leader's own."""
        key = (call.root.number, call.settings.grad, call.module.training)
        for worker, replica in enumerate(self.replicas, 1):
            if key in replica.verified or not call.parts_of(worker):
                continue
            is_same_kind = replica.kind == by_value.machine_kind()
            why = why_different(call, replica, changes, is_same_kind)
            if why is not None:
                return why
            replica.verified.add(key)
        return None


class ChangeWatch:
    """Which tensors may have changed. In-place operations raise a tensor's version; those on its
    `data` do not, nor do the kernels of some optimizers."""

    def __init__(self) -> None:
        # By identity, for as long as the tensor lives: comparing tensors compares their numbers.
        self.aliased: Dict[int, Any] = {}  # Parameters somebody may hold the `data` of.
        self.steps: Dict[int, int] = {}  # Of optimizers, by parameter.
        self.looks = 0

    def install(self, controller: Any) -> None:
        plain = torch._C._TensorBase.data

        def read(tensor: torch.Tensor) -> torch.Tensor:
            if isinstance(tensor, nn.Parameter) and id(tensor) not in self.aliased:
                self.aliased[id(tensor)] = weakref.ref(
                    tensor, lambda _, key=id(tensor): self.aliased.pop(key, None))
            return plain.__get__(tensor)

        torch.Tensor.data = property(read, plain.__set__)
        controller.steps.on_optimizer_step.append(self.on_optimizer)

    def on_optimizer(self, optimizer: Any) -> None:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                self.steps[id(parameter)] = self.steps.get(id(parameter), 0) + 1

    def version(self, tensor: torch.Tensor) -> Any:
        """Differs from an earlier one if the tensor may have changed since."""
        if id(tensor) in self.aliased:
            self.looks += 1
            return self.looks
        return (id(tensor), tensor.data_ptr(), tensor._version, self.steps.get(id(tensor), 0))
