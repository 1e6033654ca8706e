"""Writes snapshots when the supervisor wants them, and waits when it wants the script suspended."""

import os
import random
import sys
import time
from typing import Any, Optional

import torch

from rubato.split.survival import snapshot
from rubato.split.survival.job_files import JobFiles
from rubato.split.survival.object_graph import CannotName
from rubato.split.survival.recorder import RECORD, Recorder
from rubato.split.survival.saved_state import Baseline, CannotSave
from rubato.split.survival.sleeping_copy import SleepingCopy

COST_SHARE_MAX = 0.03  # Of the run time, for snapshots that nobody waits for.
UNTIL = "until"  # A reason to leave that metrics/until.py sees to.
_SHARE = "RUBATO_SNAPSHOT_SHARE"  # For tests: another share.


class SnapshotWriter:
    """Of a leader that has a supervisor."""

    def __init__(self, recorder: Recorder, files: JobFiles, copy: Optional[SleepingCopy]) -> None:
        self.recorder = recorder
        self.controller = recorder.controller
        self.files = files
        self.copy = copy
        self.baseline: Optional[Baseline] = None
        self.began = time.monotonic()
        self.spent = 0.0
        self.share = float(os.environ.get(_SHARE, COST_SHARE_MAX))
        self.is_due = False
        recorder.on_first_call.append(self.on_first_call)

    def on_first_call(self, module: Any) -> None:
        """What there is now the script makes again when it starts again."""
        try:
            self.baseline = Baseline(snapshot.graph_of(self.recorder))
        except (CannotSave, CannotName):
            self.baseline = None

    def at_boundary(self) -> None:
        core = self.controller.link.core
        step = self.controller.steps.count
        if core is None or self.recorder.mode != RECORD:
            return
        if core.exit_reason not in (None, "", UNTIL):
            self.leave(core)
        if core.wants_suspend:
            self.suspend(core, step)
            return
        self.is_due = core.take_snapshot_request() or self.is_due
        if self.is_due and self.spent <= self.share * (time.monotonic() - self.began):
            self.is_due = False
            self.write(core, step)

    def write(self, core: Any, step: int) -> None:
        began = time.monotonic()
        known = self.copy.own_descriptors() if self.copy is not None else set(core.descriptors)
        data = snapshot.take(self.recorder, self.files, self.baseline, known)
        try:
            core.write_snapshot(step, data)
        except (OSError, ValueError) as error:
            self.controller.notices.tell("no-snapshot", f"a snapshot was not written: {error}")
        self.spent += time.monotonic() - began

    def suspend(self, core: Any, step: int) -> None:
        """Waits here, with all that the script has in memory, and nothing else."""
        self.write(core, step)
        self.controller.group.stop()
        if self.copy is not None:
            self.copy.retire()
        core.suspended(step)
        if not core.wait_resume():
            self.leave(core)

    def leave(self, core: Any) -> None:
        """Somebody else goes on. Nothing of the script may run any more, not even its end."""
        core.close()
        self.controller.group.stop()
        if self.copy is not None:
            self.copy.retire()
        os._exit(0)


def seed_generators(seed: int) -> None:
    """A script that does not seed its generators gets the same numbers in every start."""
    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed(seed % (1 << 32))
