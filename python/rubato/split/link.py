"""The leader's connection to whoever supervises the job; alone, a plan of its own."""

import os
import time
from typing import Any, List, Tuple

from rubato import _core
from rubato.startup import hook

PROFILE_SECONDS = 0.5  # Between reports of what steps cost.
MEMORY_NEWS_BITS = 24  # Changes of less than so many bits of bytes are no news.


class Link:
    """How many workers there should be, and what the supervisor is told.

    Without a supervisor RUBATO_SPLIT_PLAN="0:2,40:3" says: two workers from the beginning, three
    from the 40th call of a root module on.
    """

    def __init__(self, controller: Any) -> None:
        self.controller = controller
        self.core: Any = None  # rubato._core.script.ScriptLink, once connected.
        self.plan: List[Tuple[int, int]] = sorted(
            (int(begin), int(workers)) for begin, _, workers in
            (entry.partition(":") for entry in
             filter(None, os.environ.get("RUBATO_SPLIT_PLAN", "").split(","))))
        self.profiled = 0.0  # When the last report of costs began.
        self.steps = 0  # Since then.
        self.computing = 1  # Workers, since then.
        self.told_memory: Any = None  # As it was last reported.

    def connect(self) -> None:
        socket = hook.ADDRESS.get("RUBATO_CONDUCTOR")
        if not socket:
            return
        self.core = _core.script.ScriptLink.connect(
            socket, int(hook.ADDRESS["RUBATO_WORKER"]), int(hook.ADDRESS["RUBATO_TOKEN"]))
        self.controller.notices.forward = self.core.notice
        self.controller.steps.on_step.append(self.on_step)

    def workers(self, calls: int) -> int:
        """That the next call should be shared by."""
        if self.core is not None:
            return self.core.workers
        wanted = 1
        for begin, workers in self.plan:
            if calls >= begin:
                wanted = workers
        return wanted

    def on_step(self, step: int) -> None:
        self.core.report_step(step, self.controller.steps.loss)
        now = time.monotonic()
        computing = self.controller.group.count + 1
        if computing != self.computing or self.profiled == 0.0:
            self.computing, self.profiled, self.steps = computing, now, 0
            return
        self.steps += 1
        if now - self.profiled >= PROFILE_SECONDS:
            self.core.profile(computing, self.steps, now - self.profiled)
            self.report_memory()
            self.profiled, self.steps = now, 0

    def report_memory(self) -> None:
        """When something about it has changed that people would notice."""
        used = self.controller.memory_use.report()
        told = (used["worker_bytes"] >> MEMORY_NEWS_BITS, used.get("batch"), used.get("workers"),
                used.get("pieces"), used.get("piece_rows"))
        if self.core is not None and told != self.told_memory:
            self.told_memory = told
            self.core.memory(used["worker_bytes"], used["limit_bytes"], used.get("batch", 0),
                             used.get("workers", 1), used.get("pieces", 1),
                             used.get("piece_rows", 0))

    def resized(self, workers: int, pause: float, step: int, cause: str, is_forced: bool) -> None:
        if self.core is not None:
            self.core.resized(workers, pause, step, cause, self.controller.group.pids(), is_forced)

    def replicas(self, pids: List[int]) -> None:
        if self.core is not None:
            self.core.replicas(pids)

    def metrics(self, points: List[Tuple[str, float, int]]) -> None:
        """Names, values and steps."""
        if self.core is not None:
            self.core.metrics(points)

    def exit_reason(self) -> str:
        """Why the script is asked to leave; empty while it is not."""
        return "" if self.core is None else self.core.exit_reason or ""

    def finish(self, parameter_hash: int) -> None:
        """The script has come to its end."""
        if self.core is not None:
            self.report_memory()
            self.core.finished(self.controller.steps.count, parameter_hash,
                               self.controller.steps.loss)

    def close(self) -> None:
        if self.core is not None:
            core, self.core = self.core, None
            core.close()
