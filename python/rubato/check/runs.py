"""Starts one run of the script and reads what it left."""

import ctypes
import json
import marshal
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from rubato.check.dry_run import UNPROTECTED_CODE
from rubato.check.sandbox import OUTSIDE_CODE
from rubato.check.warm import STDERR, WarmInterpreter

OUTPUT_BYTES_MAX = 64 << 10  # Of what a script prints that is kept.
STEP_SECONDS_MAX = 5.0  # Beyond its time limit a run may finish the step that it is in.
POLL_SECONDS = 0.02
_PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Target:
    """What is run."""

    main: str
    arguments: List[str] = field(default_factory=list)
    is_module: bool = False

    def __str__(self) -> str:
        return " ".join([*(["-m"] if self.is_module else []), self.main, *self.arguments])


@dataclass
class Outcome:
    """Of one run."""

    code: int = 0  # Negative: the signal that ended it.
    record: Optional[Dict[str, Any]] = None  # None: it left nothing.
    output: str = ""  # The end of its standard error.
    refusal: str = ""  # What the sandbox stopped it for.
    timed_out: bool = False
    seconds: float = 0.0

    @property
    def wrote_outside(self) -> bool:
        return self.code == OUTSIDE_CODE and bool(self.refusal)

    @property
    def is_unprotected(self) -> bool:
        return self.code == UNPROTECTED_CODE and bool(self.refusal)


class Run:
    """A run that has been started."""

    def __init__(self, target: Target, settings: Dict[str, Any],
                 variables: Optional[Dict[str, str]] = None,
                 seconds_max: float = 0.0, changes_kernels: bool = False) -> None:
        self.variables = variables or {}
        self.began = time.monotonic()
        self.results = tempfile.mkdtemp(prefix="rubato-check-")
        # A run leaves by itself after the step that its time ends in.
        self.seconds_max = max(seconds_max, settings["seconds"] + STEP_SECONDS_MAX)
        settings = {"main": target.main, "arguments": target.arguments,
                    "is_module": target.is_module, "elastic": False,
                    "variables": self.variables, "until": self.began + settings["seconds"],
                    **settings}
        with open(os.path.join(self.results, "settings"), "w", encoding="utf-8") as file:
            json.dump(settings, file)
        open(os.path.join(self.results, STDERR), "wb").close()
        adopt_orphans()
        self.pid = self.forked() if not changes_kernels else self.started(variables or {})
        RUNNING.add(self.pid)

    def forked(self) -> int:
        """From a warm interpreter; the settings have its variables."""
        pid = warm_interpreter().fork(self.results)
        return self.started(self.variables) if pid is None else pid

    def started(self, variables: Dict[str, str]) -> int:
        """From nothing: libraries choose their kernels when they are loaded."""
        with open(os.path.join(self.results, STDERR), "ab") as error:
            return subprocess.Popen(
                [sys.executable, "-m", "rubato.check.dry_run", self.results],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=error,
                env=environment(variables), start_new_session=True).pid

    def wait(self) -> Outcome:
        outcome = Outcome()
        until = self.began + self.seconds_max
        status = self.poll()
        while status is None and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
            status = self.poll()
        outcome.timed_out = status is None
        self.end(status)
        outcome.code = 0 if status is None else os.waitstatus_to_exitcode(status)
        outcome.seconds = time.monotonic() - self.began
        outcome.record = self.read("record")
        outcome.refusal = self.text("refusal")
        outcome.output = self.text(STDERR)
        shutil.rmtree(self.results, ignore_errors=True)
        return outcome

    def poll(self) -> Optional[int]:
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return status if pid else None

    def end(self, status: Optional[int]) -> None:
        """Ends all that the run has started."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if status is None:
            os.waitpid(self.pid, 0)
        RUNNING.discard(self.pid)
        end_orphans()

    def read(self, name: str) -> Optional[Dict[str, Any]]:
        try:
            with open(os.path.join(self.results, name), "rb") as file:
                return marshal.load(file)
        except (OSError, ValueError, EOFError, TypeError):
            return None

    def text(self, name: str) -> str:
        try:
            with open(os.path.join(self.results, name), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(max(0, size - OUTPUT_BYTES_MAX))
                return file.read().decode("utf-8", "replace")
        except OSError:
            return ""


def environment(variables: Dict[str, str]) -> Dict[str, str]:
    """The user's own, without what would make runs differ or tell the world of a dry run."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("RUBATO_SPLIT") and name != "RUBATO_DETERMINISTIC"}
    return {**kept, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
            "WANDB_MODE": "disabled", **variables}


def adopt_orphans() -> None:
    """Processes that a run leaves behind become ours, so that they can be ended."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), 0, 0, 0)


def end_orphans() -> None:
    """Those in a session of their own. Other runs have their own session leader as parent; only
    what nobody else waits for is ours."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            children = [int(pid) for pid in file.read().split()]
    except OSError:
        return
    for pid in children:
        if pid not in RUNNING:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


RUNNING: set = set()  # Processes that are waited for elsewhere.
_warm: List[WarmInterpreter] = []


def warm_interpreter() -> WarmInterpreter:
    if not _warm:
        _warm.append(WarmInterpreter(environment({})))
        RUNNING.add(_warm[0].process.pid)
    return _warm[0]


def end_interpreter() -> None:
    for interpreter in _warm:
        RUNNING.discard(interpreter.process.pid)
        interpreter.end()
    _warm.clear()
