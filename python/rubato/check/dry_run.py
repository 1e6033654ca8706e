"""The process of one run: python3 -m rubato.check.dry_run RESULTS, where RESULTS/settings says what
to run and how. It runs the script as Python would, up to some steps, and cannot change files."""

import json
import os
import random
import runpy
import signal
import sys
import traceback
from types import SimpleNamespace
from typing import Any, Dict, List

from rubato.check import sandbox

SEED = 1
UNPROTECTED_CODE = 98  # The run was not made: nothing would protect the user's files.


def main(results: str) -> None:
    with open(os.path.join(results, "settings"), encoding="utf-8") as file:
        settings: Dict[str, Any] = json.load(file)
    os.environ.update(settings["variables"])
    protection = sandbox.protect(results, lambda path: stop_at_write(results, path))
    if protection["how"] == "none":
        write_refusal(results, protection["reason"])
        os._exit(UNPROTECTED_CODE)
    if settings["elastic"]:
        from rubato.split.survival.install import start

        start()  # Comes back in a fork.
    import torch

    from rubato.check.recorder import Recorder, watch_optimizers

    if settings.get("double"):
        torch.set_default_dtype(torch.float64)
    recorder = Recorder(settings, results)
    recorder.install()
    if settings["elastic"]:
        from rubato.split.install import install

        install()
        Shared(recorder).begin()
    else:
        from rubato.split import steps

        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or "1"))
        plain = SimpleNamespace(steps=steps.StepCounter(), is_leader=True)
        steps.install(plain)
        plain.steps.on_step.append(recorder.on_step)
    recorder.watch_users_calls()
    watch_optimizers(recorder)
    seed_all(torch)
    if "guard" in protection:
        sandbox.watch_saving(protection["guard"])
        protection["guard"].install()
    run(settings, recorder)


def seed_all(torch: Any) -> None:
    """A script without seeds would compute something else in every run."""
    torch.manual_seed(SEED)
    random.seed(SEED)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(SEED)


def run(settings: Dict[str, Any], recorder: Any) -> None:
    arguments: List[str] = settings["arguments"]
    sys.argv = [settings["main"], *arguments]
    pid = os.getpid()
    code, error = 0, ""
    try:
        if settings["is_module"]:
            sys.path[0] = os.getcwd()
            runpy.run_module(settings["main"], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.realpath(settings["main"]))
            runpy.run_path(settings["main"], run_name="__main__")
    except SystemExit as request:
        code = exit_code(request)
    except BaseException as failure:  # noqa: B902  Whatever ends the script is what we report.
        error = traceback_of(failure)
        sys.stderr.write(error)
        code = 1
    if os.getpid() != pid and not recorder.settings["elastic"]:
        os._exit(code)  # A fork of the script's own.
    recorder.leave("end", code, error)


def exit_code(request: SystemExit) -> int:
    if request.code is None or isinstance(request.code, int):
        return request.code or 0
    sys.stderr.write(f"{request.code}\n")
    return 1


def traceback_of(failure: BaseException) -> str:
    """As Python prints it, without our frames."""
    frames = failure.__traceback__
    while frames is not None and is_ours(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(failure), failure, frames))


def is_ours(path: str) -> bool:
    return path == __file__ or "runpy" in os.path.basename(path)


def stop_at_write(results: str, path: str) -> None:
    write_refusal(results, path)
    os._exit(sandbox.OUTSIDE_CODE)


def write_refusal(results: str, text: str) -> None:
    descriptor = os.open(os.path.join(results, "refusal"), os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(descriptor, text.encode(errors="replace"))
    os.close(descriptor)


class Shared:
    """What is added to a shared run: a killed leader, and what is known of replicas."""

    def __init__(self, recorder: Any) -> None:
        from rubato.split.controller import CONTROLLER

        self.recorder = recorder
        self.controller = CONTROLLER
        self.kill_step = int(recorder.settings.get("leader_kill", 0))
        self.replica_bytes = 0
        self.shared_bytes = 0
        self.split_from = 0  # The first step with a shared call.

    def begin(self) -> None:
        self.controller.steps.on_step.append(self.on_step)
        self.recorder.after_step.append(self.after_step)
        self.recorder.more = self.more

    def on_step(self, count: int) -> None:
        if self.controller.is_leader:
            self.recorder.on_step(count)

    def after_step(self, count: int) -> None:
        if self.split_from == 0 and self.controller.calls:
            self.split_from = count
        for pid in self.controller.group.pids():
            private, shared = memory_of(pid)
            self.replica_bytes = max(self.replica_bytes, private)
            self.shared_bytes = max(self.shared_bytes, shared)
        if self.kill_step and count >= self.kill_step:
            self.kill_leader(count)
        if self.recorder.settings.get("until_chosen") and self.has_chosen():
            self.recorder.leave("steps", 0)

    def kill_leader(self, count: int) -> None:
        """Once, and only if a copy of it sleeps."""
        copy = getattr(self.controller, "sleeping_copy", None)
        if copy is None or copy.pid == 0 or copy.page.woken:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    def trials(self) -> List[Any]:
        return [root for root in self.controller.roots.values() if root.trial is not None]

    def has_chosen(self) -> bool:
        trials = self.trials()
        return bool(trials) and all(root.trial.choice is not None for root in trials)

    def more(self) -> Dict[str, Any]:
        """Ends the replicas, too."""
        from rubato.split.survival import holder

        report = self.controller.report()
        timings = [{"name": root.name, "shared": [float(t) for t in root.trial.times[0]],
                    "unshared": [float(t) for t in root.trial.times[1]]} for root in self.trials()]
        self.controller.group.stop()
        woken = holder.HELD.page.woken if holder.HELD is not None else 0
        return {"report": report, "woken": int(woken), "timings": timings,
                "replica_bytes": self.replica_bytes, "shared_bytes": self.shared_bytes,
                "split_from": self.split_from,
                "notices": dict(self.controller.notices.told)}


def memory_of(pid: int) -> Any:
    """Bytes of a process that are its own, and that it shares with the leader by our doing."""
    private = shared = 0
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            for line in file:
                key, _, rest = line.partition(":")
                if key in ("Private_Dirty", "Private_Clean"):
                    private += int(rest.split()[0]) * 1024
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("RssShmem:"):
                    shared = int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass  # It has just ended.
    return private, shared


if __name__ == "__main__":
    main(sys.argv[1])
