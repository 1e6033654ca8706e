"""Runs a script as a leader under a supervisor that is a folder: python3 survival_runner.py SCRIPT

RUN_FOLDER     where snapshots and the files of the job are kept
RUN_EVERY      steps between snapshots
RUN_SUSPEND    step at which the script is suspended
RUN_MOVES      the start, counted by START, in which it is then told to leave
"""

import os
import runpy
import sys

from rubato.startup import hook
from rubato.split.survival.install import start

FOLDER = os.environ["RUN_FOLDER"]
hook.ADDRESS["RUBATO_CONDUCTOR"] = os.path.join(FOLDER, "socket")
start()

from rubato.split import link  # noqa: E402
from rubato.split.install import install  # noqa: E402
from rubato.split.survival.file_journal import unwatched  # noqa: E402


class FolderLink:
    """As rubato._core.script.ScriptLink."""

    workers, seed, exit_reason = int(os.environ.get("RUN_WORKERS", "1")), 77, None
    descriptors, thread_id = [], 0

    def __init__(self):
        self.every = int(os.environ.get("RUN_EVERY", "0"))
        self.suspend_step = int(os.environ.get("RUN_SUSPEND", "-1"))
        self.path = os.path.join(FOLDER, "snapshot")
        self.is_due = False
        self.step = 0

    @property
    def wants_suspend(self):
        return self.step == self.suspend_step

    def take_snapshot_request(self):
        is_due, self.is_due = self.is_due, False
        return is_due

    def report_step(self, step, loss):
        self.step = step
        self.is_due = self.is_due or bool(self.every) and step % self.every == 0

    def write_snapshot(self, step, data):
        with unwatched():  # These are no files of the script.
            with open(self.path + ".new", "wb") as file:
                file.write(data)
            os.rename(self.path + ".new", self.path)

    def resume_state(self):
        try:
            with open(self.path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def suspended(self, step):
        print(f"suspended at {step}", file=sys.stderr, flush=True)

    def wait_resume(self):
        self.suspend_step = -1
        if os.environ.get("RUN_MOVES") == os.environ["START"]:
            print("was told to leave", file=sys.stderr, flush=True)
            return False
        return True

    def __getattr__(self, name):
        return lambda *_: None


def connect(self):
    self.core = FolderLink()
    self.controller.steps.on_step.append(self.on_step)


link.Link.connect = connect
install()
del sys.argv[0]
sys.path[0] = os.path.dirname(os.path.realpath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
