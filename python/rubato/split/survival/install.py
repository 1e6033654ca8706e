"""Puts survival into a process that is about to run a script."""

import atexit
import functools
import os
from typing import Any, Optional

from rubato.startup import hook
from rubato.split.survival import holder, open_files, output

FILES_LOG = "script-files"  # In the folder of the job: see job_files.py.
ANEW_NOTICE = ("the script starts from its beginning, and computes again what it had computed, "
               "because there is no snapshot")


def start() -> Optional[holder.Held]:
    """Before the script and before torch is needed. Returns in the leader only; see holder.py."""
    held = holder.hold()
    if held is not None:
        open_files.remember_inherited()
        atexit.register(open_files.flush_files)  # First, so that it runs last.
        output.install(job_folder())
    return held


def job_folder() -> str:
    """Where the supervisor keeps what belongs to the job; empty without one."""
    return os.path.dirname(hook.ADDRESS.get("RUBATO_CONDUCTOR", ""))


def install(controller: Any) -> None:
    """When torch is there, after all that replaces something of it. Without a holder there are no
    copies of the process: nobody would wait for one."""
    from rubato.split.survival import loader_workers, safety
    from rubato.split.survival.file_journal import WATCH
    from rubato.split.survival.sleeping_copy import SleepingCopy

    if holder.HELD is None and controller.link.core is None:
        return
    loader_workers.install(lambda: controller.is_leader)
    watch_saving()
    WATCH.owner = os.getpid()
    WATCH.install()
    safety.allow_native_threads(safety.native_threads())  # The connection's among them.
    copy = SleepingCopy(controller, holder.HELD) if holder.HELD is not None else None
    controller.sleeping_copy = copy
    if controller.link.core is not None:
        install_snapshots(controller, copy)
    if copy is not None:
        controller.at_boundary.append(copy.at_boundary)


def install_snapshots(controller: Any, copy: Any) -> None:
    """For a job, whose script may have to start again."""
    from rubato.split.survival import recorder as recording
    from rubato.split.survival import snapshot, snapshot_writer
    from rubato.split.survival.file_journal import WATCH
    from rubato.split.survival.job_files import JobFiles
    from rubato.split.survival.starting_again import StartingAgain
    from rubato.split.survival.warned import Warned

    core = controller.link.core
    snapshot_writer.seed_generators(core.seed)
    recorder = controller.recorder = recording.Recorder(controller)
    recording.install(recorder)
    recorder.warned = Warned(recorder)
    recorder.warned.install()
    recorder.mode = recording.RECORD
    files = JobFiles(os.path.join(job_folder(), FILES_LOG) if job_folder() else "",
                     lambda: controller.steps.count)
    data = core.resume_state()
    resumed = snapshot.unpacked(data) if data is not None else None
    writer = snapshot_writer.SnapshotWriter(recorder, files, copy)
    if resumed is not None or files.files:
        again = controller.starting_again = StartingAgain(recorder, copy, files, resumed)
        again.begin()
        controller.at_boundary.append(again.at_boundary)
    elif files.is_later_start:
        controller.notices.tell("anew", ANEW_NOTICE)
    WATCH.on_change.append(files.on_change)
    controller.at_boundary.append(writer.at_boundary)


def watch_saving() -> None:
    """torch.save opens files in C++, where no audit event is raised."""
    from torch import serialization

    from rubato.split.survival.file_journal import WATCH

    writer = serialization._open_zipfile_writer_file
    original = writer.__init__

    @functools.wraps(original)
    def __init__(self: Any, name: Any) -> None:
        WATCH.before_write(name)
        original(self, name)

    writer.__init__ = __init__
