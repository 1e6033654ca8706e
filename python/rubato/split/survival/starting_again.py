"""A script that has run before, starts again in a new process.

Up to three ways are tried, one after the other. Before the first, while the script has done nothing
but load torch, the process is copied (sleeping_copy.py); an attempt that fails ends itself, and the
copy makes the next one.

1. Its own way. If the job has written files while it trained, the script is let run. If it loads
   one of them and then trains what was in it (own_checkpoint.py), it is left to do so.
2. Replay. The script is taken through all it did up to the snapshot without computing its models
   (recorder.py); then it is compared with the snapshot in every respect, and gets its tensors.
3. Anew. Everything is computed again from the beginning, which is always right.
"""

import atexit
import os
import signal
import sys
import time
from typing import Any, List, Optional

from rubato.split.survival import job_files, output, recorder as recording
from rubato.split.survival.file_journal import WATCH, unwatched
from rubato.split.survival.job_files import JobFiles
from rubato.split.survival.object_graph import CannotName
from rubato.split.survival.open_files import OpenFiles, UnsafeDescriptor, flush_files
from rubato.split.survival.own_checkpoint import LoadedFiles
from rubato.split.survival.reads import ReplayDiffers
from rubato.split.survival.recorder import RECORD, REPLAY, Recorder
from rubato.split.survival.saved_state import CannotSave, hash_of
from rubato.split.survival.sleeping_copy import SleepingCopy
from rubato.split.survival.snapshot import Snapshot, graph_of, optimizers_of, roots_of

OWN_WAY, REPLAYED, ANEW = "own way", "replayed", "anew"
EXIT_DIFFERS = 65  # As for other scripts that cannot be trained in this way.
_KEPT, _OLD = "kept", "old"  # Names of files while a script is replayed, or computes anew.


class QuietLink:
    """The connection while a script is replayed: what it did it has told already."""

    workers, exit_reason, wants_suspend = 1, None, False

    def __init__(self, core: Any) -> None:
        self.core = core

    @property
    def descriptors(self) -> List[int]:
        return self.core.descriptors

    def notice(self, key: str, sentence: str) -> None:
        self.core.notice(key, sentence)

    def after_fork(self) -> None:
        self.core.after_fork()

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


class StartingAgain:
    """Of a process whose script has run before."""

    def __init__(self, recorder: Recorder, copy: Optional[SleepingCopy], files: JobFiles,
                 snapshot: Optional[Snapshot]) -> None:
        self.recorder = recorder
        self.controller = recorder.controller
        self.copy = copy
        self.files = files
        self.snapshot = snapshot
        self.way = ""
        self.is_undecided = False  # Nobody knows yet whether the script goes its own way.
        self.loaded = LoadedFiles()
        self.core: Any = None  # The connection, while the supervisor is not to hear of steps.
        self.began = time.monotonic()
        recorder.on_difference = lambda error: self.abandon(f"it {error}")
        recorder.on_first_call.append(self.on_first_call)
        self.furthest = max([snapshot.step if snapshot is not None else 0,
                             *(file.step for file in files.files.values())])
        if copy is not None:
            copy.is_wanted = lambda: recorder.mode != REPLAY
            copy.after_waking.append(self.recover)
        atexit.register(self.on_exit)

    def begin(self) -> None:
        """Chooses what to try now."""
        ways = self.ways()
        while self.copy is not None and self.copy.make(0):
            pass
        if self.copy is None or self.copy.pid == 0:
            ways = [ANEW]  # There is no second try, so it must be the one that is always right.
            self.way = ANEW
        else:
            self.way = ways[min(self.copy.page.attempt, len(ways) - 1)]
        {OWN_WAY: self.try_own_way, REPLAYED: self.replay, ANEW: self.compute_anew}[self.way]()

    def ways(self) -> List[str]:
        ways = [ANEW]
        if self.snapshot is not None and not self.snapshot.why_not:
            ways.insert(0, REPLAYED)
        if any(file.step > 0 and os.path.exists(file.path) for file in self.files.files.values()):
            ways.insert(0, OWN_WAY)
        return ways

    def recover(self) -> None:
        """In the copy that makes the next attempt."""
        with unwatched():
            self.files.bring_back(_KEPT)

    def abandon(self, reason: str) -> None:
        """Ends this attempt. Does not return."""
        assert self.copy is not None
        output.mute(False)
        output.release(goes_out=False)
        if reason:
            self.controller.notices.tell(
                "not-replayed", f"the script cannot be taken back to step "
                f"{self.snapshot.step if self.snapshot is not None else 0} without computing, "
                f"since {reason}; everything is computed again")
        page = self.copy.page
        page.attempt += 1
        page.is_abandoned = 1
        os.kill(os.getpid(), signal.SIGKILL)

    # The script's own way.

    def try_own_way(self) -> None:
        output.keep_all()
        output.hold_back()
        self.is_undecided = self.files.is_paused = True
        self.loaded.watch()
        WATCH.on_read.append(self.on_read)
        self.excepthook, sys.excepthook = sys.excepthook, self.on_exception

    def on_read(self, path: str) -> None:
        file = self.files.files.get(path)
        if self.is_undecided and file is not None and file.step > 0:
            self.loaded.step = file.step

    def on_first_call(self, module: Any) -> None:
        """Of a root module."""
        if not self.is_undecided:
            return
        step = self.loaded.step_of(module)
        if step is None:
            self.abandon("")
        else:
            self.decide(step)

    def decide(self, step: int) -> None:
        self.is_undecided = self.files.is_paused = False
        self.loaded.stop()
        sys.excepthook = self.excepthook
        output.release(goes_out=True)
        self.controller.steps.rounds += step
        self.controller.notices.tell(
            "own-checkpoint", "the script goes on from a checkpoint of its own, which it wrote "
            f"after step {step}")

    def on_exception(self, kind: Any, error: Any, trace: Any) -> None:
        if self.is_undecided:
            self.abandon("")  # Perhaps of a checkpoint that was being written at the death.
        self.excepthook(kind, error, trace)

    # Replay.

    def replay(self) -> None:
        assert self.snapshot is not None
        reason = job_files.why_missing(self.snapshot.files)
        if reason is not None:
            self.abandon(reason)
        with unwatched():
            self.files.set_aside(_KEPT)
        output.mute(True)
        self.recorder.history = self.snapshot.history
        self.recorder.mode = REPLAY
        self.core = self.controller.link.core
        self.controller.link.core = QuietLink(self.core)
        recording.use_engine(self.recorder, True)
        self.excepthook, sys.excepthook = sys.excepthook, self.on_replay_exception

    def on_replay_exception(self, kind: Any, error: Any, trace: Any) -> None:
        if self.recorder.mode == REPLAY:
            self.abandon(f"it ended with {kind.__name__}: {error}")
        self.excepthook(kind, error, trace)

    def at_boundary(self) -> None:
        if self.recorder.mode != REPLAY or self.snapshot is None:
            return
        if self.controller.steps.count < self.snapshot.step:
            return
        try:
            self.recorder.outside(self.arrive)
        except (ReplayDiffers, CannotName, CannotSave, OSError, RuntimeError) as error:
            self.abandon(f"it {error}")

    def arrive(self) -> None:
        """Compares the script with the snapshot, and makes it the same."""
        snapshot = self.snapshot
        assert snapshot is not None and snapshot.tensors is not None
        assert snapshot.optimizers is not None and snapshot.random is not None
        self.compare(snapshot)
        graph = graph_of(self.recorder)
        different = {name for name in {*graph.values, *snapshot.values}
                     if graph.values.get(name) != snapshot.values.get(name)}
        if different:
            raise ReplayDiffers(f"has another value in {sorted(different)[0]}")
        snapshot.tensors.restore(graph, snapshot.memory)
        snapshot.optimizers.restore(optimizers_of(self.recorder))
        snapshot.random.restore(graph)
        for root, timing in zip(roots_of(self.recorder), snapshot.timings):
            if root is not None and timing is not None:
                root.timed, root.seconds = timing
        if hash_of(self.recorder.roots) != snapshot.parameter_hash:
            raise ReplayDiffers("has other parameters than the snapshot")
        self.bring_files(snapshot)
        self.go_on(snapshot)

    def compare(self, snapshot: Snapshot) -> None:
        history, replayed = snapshot.history, self.recorder.replayed
        counts = {
            "steps": (self.controller.steps.count, snapshot.step),
            "calls of models": (history.calls.called_again, history.calls.count),
            "reads of tensors": (history.reads.read_again, history.reads.count),
            "iterations over loaders": (replayed.iterations, history.iterations),
            "batches": (replayed.batches, history.batches),
        }
        for what, (found, expected) in counts.items():
            if found != expected:
                raise ReplayDiffers(f"made {found} {what}, not {expected}")
        assert snapshot.random is not None
        other = snapshot.random.difference(type(snapshot.random)(), not history.draws_random)
        if other is not None:
            raise ReplayDiffers(f"has drawn {other} in another way")

    def bring_files(self, snapshot: Snapshot) -> None:
        flush_files()
        assert self.copy is not None
        try:
            opened = OpenFiles(self.copy.own_descriptors() | self.copy.loader_descriptors())
        except UnsafeDescriptor as error:
            raise ReplayDiffers(str(error)) from error
        with unwatched():
            self.files.bring_back(_KEPT)
            self.files.undo_since(snapshot.files)
            newer = job_files.make_as(snapshot.files)
            job_files.open_again(opened, snapshot.open_files)
        if newer:
            self.controller.notices.tell(
                "newer-files", f"{', '.join(newer[:3])} is newer than the snapshot until the "
                "script writes it again")

    def go_on(self, snapshot: Snapshot) -> None:
        recording.use_engine(self.recorder, False)
        self.controller.link.core, self.core = self.core, None
        if sys.excepthook == self.on_replay_exception:
            sys.excepthook = self.excepthook
        output.mute(False)
        output.begin_at(snapshot.output)
        self.recorder.warned.restore(snapshot.warned)
        self.recorder.history.iterations = self.recorder.replayed.iterations
        self.recorder.mode = RECORD
        self.snapshot = None
        self.controller.notices.tell(
            "replayed", f"the script goes on from step {snapshot.step}; it was taken there in "
            f"{time.monotonic() - self.began:.1f} s without computing its model")

    # Anew.

    def compute_anew(self) -> None:
        with unwatched():
            self.files.set_aside(_OLD)
        self.recorder.mode = RECORD
        why_not = self.snapshot.why_not if self.snapshot is not None else "there is no snapshot"
        self.controller.notices.tell(
            "anew", "the script starts from its beginning, and computes again what it had computed"
            + (f", because {why_not}" if why_not else ""))

    # The end.

    def on_exit(self) -> None:
        """The script has come to its end; an exception has been told."""
        if not self.controller.is_leader:
            return
        if self.recorder.mode == REPLAY:
            self.abandon("it came to its end before that")
        if self.is_undecided:
            self.abandon("")  # It did not train at all: perhaps it took what it found for its end.
        has_failed = hasattr(sys, "last_value")
        done = self.controller.steps.count
        if done < self.furthest and not has_failed:
            self.controller.notices.tell(
                "fewer-steps", f"the script has ended after {done} steps, but an earlier start of "
                f"it had come to step {self.furthest}: it does not do the same in every start")
            output.flush()
            self.controller.at_exit()
            os._exit(EXIT_DIFFERS)
        if self.way == ANEW and not has_failed:
            with unwatched():  # What was computed before is not needed any more.
                self.files.drop(_OLD)
