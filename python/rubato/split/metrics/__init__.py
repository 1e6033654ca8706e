"""Metrics of a script: what it hands to `rubato.log`, to known loggers, and to event files.

Everything is collected in the leader and told to the program that supervises the job, at most a
few times a second. In any other process, and without Rubato, nothing happens.

No thread is used: what was collected is sent when the script logs again, when it begins the next
step, and at its end. A thread would have to be stopped around every fork of a replica.
"""

import atexit
import sys
from typing import Any, Mapping, Optional

from rubato.split.metrics.collector import Collector, numbers_of
from rubato.split.metrics.until import EarlyEnd

__all__ = ["install", "log", "should_stop"]


class LeaderMetrics:
    """What belongs to the leader; made by `install`."""

    def __init__(self, controller: Any) -> None:
        from rubato.split.metrics.event_files import EventFiles

        self.controller = controller
        self.collector = Collector(controller)
        self.event_files = EventFiles(self.collector)
        self.early_end = EarlyEnd(controller)

    def at_boundary(self) -> None:
        """Between two steps."""
        self.event_files.poll()
        self.collector.flush()
        self.early_end.at_boundary()

    def at_exit(self) -> None:
        if self.controller.is_leader:
            self.event_files.poll(is_last=True)
            self.collector.flush(is_last=True)


LEADER: Optional[LeaderMetrics] = None


def leader() -> Optional[LeaderMetrics]:
    """Nothing in a process that is not the leader."""
    if LEADER is not None and LEADER.controller.is_leader:
        return LEADER
    return None


def log(values: Optional[Mapping[str, Any]] = None, /, step: Optional[int] = None,
        **named: Any) -> None:
    """Tells Rubato of metrics: `rubato.log({"loss": 0.3})` or `rubato.log(loss=0.3)`.

    They appear on the job's page, and `--until` can wait for them. Values are numbers or tensors
    with one element; dictionaries within the dictionary make names such as `val/loss`. Without
    `step` they belong to the steps that the script has done so far. Without Rubato nothing happens.
    """
    if values is not None and not isinstance(values, Mapping):
        raise TypeError(f"rubato.log: expected a dictionary, found {type(values).__name__}")
    here = leader()
    if here is None:
        return
    for name, value in numbers_of({**(values or {}), **named}):
        here.collector.add(name, value, step)
    here.collector.flush()


def should_stop() -> bool:
    """True once the job's `--until` rule has come true.

    A script that asks may end by itself and do what it wants to do before. One that never asks is
    ended at the beginning of its next step.
    """
    here = leader()
    return here is not None and here.early_end.should_stop()


def install(controller: Any) -> None:
    """Makes this process tell metrics. For the leader, before its script runs."""
    global LEADER
    from rubato.split.metrics import loggers

    LEADER = LeaderMetrics(controller)
    controller.at_boundary.append(LEADER.at_boundary)
    atexit.register(LEADER.at_exit)  # Runs before what was registered earlier.
    loggers.install(recorded)


def recorded(name: str, value: Any, step: Any = None) -> None:
    """A known logger was given a number."""
    here = leader()
    if here is not None:
        for found, number in numbers_of({name: value}):
            here.collector.add(found, number, step)
        here.collector.flush()


def uninstall() -> None:
    """For tests: nothing is told from now on."""
    global LEADER
    loggers = sys.modules.get("rubato.split.metrics.loggers")
    if loggers is not None:
        loggers.uninstall()
    if LEADER is not None:
        atexit.unregister(LEADER.at_exit)
    LEADER = None
