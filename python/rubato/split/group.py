"""The replicas of a leader: made, resized, stopped."""

import os
import pickle
import signal
import time
from typing import Any, Dict, List, Optional, Sequence

from torch import nn
from torch.utils._pytree import TreeSpec

from rubato.split import child
from rubato.split.fingerprint import AttributeChange, Fingerprint
from rubato.split.memory import WORKERS_MAX, is_shared
from rubato.split.memory_limits import oom_kills
from rubato.split.part import ReplicaLost, Settings
from rubato.split.rehearsal import Verdict, rehearse
from rubato.split.replica import Reply, Server

REPLY_US = 20_000  # Between looks at whether the replica is alive.
REPLY_SECONDS_MAX = 30.0  # At least; and so many times the leader's own part:
REPLY_FACTOR_MAX = 50.0


class Replica:
    """One replica as its leader sees it."""

    def __init__(self, controller: Any, rank: int) -> None:
        self.rank = rank
        self.is_dead = False
        self.signal = 0  # That it was killed by.
        self.dropped: List[int] = []  # Calls whose graphs it may forget.
        self.mailbox = controller.memory.mailboxes[rank]
        self.mailbox.reset()
        self.pid = child.fork()
        if self.pid == 0:
            try:
                child.become_child(shows_errors=False)
                controller.become_replica()
                Server(controller, rank).serve()
            finally:
                os._exit(1)

    def request(self, message: Any) -> None:
        if self.is_dead:
            raise ReplicaLost
        self.mailbox.request(pickle.dumps(message, 4))

    def reply(self, expected_seconds: float) -> Reply:
        patience = max(REPLY_SECONDS_MAX, REPLY_FACTOR_MAX * expected_seconds)
        until = time.monotonic() + patience
        while True:
            data = self.mailbox.wait_reply(REPLY_US)
            if data is not None:
                return pickle.loads(data)
            if not self.is_alive() or time.monotonic() > until:
                raise ReplicaLost

    def is_alive(self) -> bool:
        if not self.is_dead:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self.is_dead = pid != 0
                self.signal = os.WTERMSIG(status) if pid and os.WIFSIGNALED(status) else 0
            except ChildProcessError:  # The script has waited for any child.
                self.is_dead = True
        return not self.is_dead

    def stop(self) -> None:
        if self.is_alive():
            os.kill(self.pid, signal.SIGKILL)
            try:
                os.waitpid(self.pid, 0)
            except ChildProcessError:
                pass
        self.is_dead = True


class Group:
    """The replicas, all forked when the same roots were known."""

    is_by_value = False

    def __init__(self, controller: Any) -> None:
        self.controller = controller
        self.replicas: List[Replica] = []
        self.prints: Dict[int, Fingerprint] = {}  # By root: as the replicas know it.
        self.generation = 1  # Of exchanges; rises when calls are given up.
        self.sequence = 0
        self.deaths = 0
        self.oom_kills = 0  # Known to the kernel when the replicas were made.

    @property
    def count(self) -> int:
        return len(self.replicas)

    def resize(self, count: int) -> None:
        """At once: parts of calls that a stopped replica holds are computed again if needed."""
        count = min(count, WORKERS_MAX - 1)
        while len(self.replicas) > count:
            self.replicas.pop().stop()
        if not self.replicas:
            self.prints = {}
        if len(self.replicas) < count:
            self.fork_until(count)
        self.controller.on_group_changed()

    def fork_until(self, count: int) -> None:
        self.oom_kills = oom_kills()
        if not self.replicas:
            self.prints = {}
            for root in self.controller.roots.values():
                module = root.module()
                # A script that assigns `parameter.data` takes it out of shared memory.
                root.is_shared = module is not None and root.is_shared and is_shared(module)
                if root.is_shared:
                    self.prints[root.number] = Fingerprint(module, root.watched)
        used = {replica.rank for replica in self.replicas}
        free = (rank for rank in range(1, WORKERS_MAX) if rank not in used)
        while len(self.replicas) < count:
            self.replicas.append(Replica(self.controller, next(free)))

    def stop(self) -> None:
        """Ends all replicas; those that wait for each other as well."""
        self.give_up_exchanges()
        for replica in self.replicas:
            replica.stop()
        self.replicas = []
        self.prints = {}
        self.controller.on_group_changed()

    def lose(self) -> None:
        """A replica is gone. The others may wait for it, so all are made anew at the next call."""
        self.deaths += 1
        self.reset()

    def reset(self) -> None:
        """After a call that was given up: no replica is left in the middle of it."""
        self.stop()

    def has_run_out_of_memory(self) -> bool:
        """Whether the kernel has ended a replica for want of memory."""
        is_killed = any(not replica.is_alive() and replica.signal == signal.SIGKILL
                        for replica in self.replicas)
        return is_killed and oom_kills() > self.oom_kills

    def available(self, wanted: int, waits: bool) -> int:
        """So many workers can share a call now."""
        return wanted

    def renew(self, root: int) -> None:
        """A module has changed in a way that replicas cannot be told of."""
        self.stop()

    def note_changes(self, root: int, module: nn.Module,
                     changes: Sequence[AttributeChange]) -> None:
        """Replicas are told of them with a call of this root. Roots may have modules in common: one
        that is called when another cannot be split is a part of it."""
        parts = list(module.modules())
        told = {(id(parts[change.module]), change.name): change.value for change in changes}
        for number, known in self.prints.items():
            if number != root:
                known.told.update(told)

    def introduce(self, root: Any, module: nn.Module) -> Optional[str]:
        """Makes a module known to replicas that exist; why that cannot be, if so."""
        return None

    def rehearse(self, module: nn.Module, spec: TreeSpec, leaves: Sequence[Any],
                 settings: Settings) -> Verdict:
        return rehearse(self.controller, module, spec, leaves, settings)

    def verify(self, call: Any, changes: Sequence[Any]) -> Optional[str]:
        """Why a replica cannot be trusted; forks are the leader itself."""
        return None

    def give_up_exchanges(self) -> None:
        if self.controller.memory is not None:
            self.controller.memory.exchange.abort(self.generation)
        self.generation += 1
        self.sequence = 0

    def has_died(self) -> Optional[Replica]:
        return next((replica for replica in self.replicas if not replica.is_alive()), None)

    def pids(self) -> List[int]:
        return [replica.pid for replica in self.replicas]
