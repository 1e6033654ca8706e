"""Starts `rubato` as a child process, and measures the CPU time it took."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS_MAX = 600.0
OUTPUT_BYTES_MAX = 16 << 20


class ChildFailed(Exception):
    """The program could not be started, failed, hung, or printed what is no result."""


@dataclass(frozen=True)
class Finished:
    """What a child left behind."""

    output: str
    cpu_seconds: float


def _last_line(text: bytes) -> str:
    """The line that most likely says what went wrong."""
    lines = text.decode("utf-8", errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else "no message"


def run(command: list[str], seconds_max: float = SECONDS_MAX) -> Finished:
    """Runs a command to its end; user plus system time of that process alone."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        except OSError as error:
            raise ChildFailed(f"{command[0]}: {error.strerror}") from error
        timer = threading.Timer(seconds_max, child.kill)
        timer.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
        finally:
            timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            err.seek(0)
            why = _last_line(err.read(OUTPUT_BYTES_MAX))
            raise ChildFailed(f"exit code {child.returncode}: {why}")
        out.seek(0)
        output = out.read(OUTPUT_BYTES_MAX).decode("utf-8", errors="replace")
        return Finished(output, usage.ru_utime + usage.ru_stime)


@dataclass(frozen=True)
class Simulation:
    """One call of `rubato sim` with one policy."""

    trace: Path
    cluster: str
    slot: float
    policy: str
    overhead: str
    speeds: Path | None = None
    noise: float = 0.0
    seed: int = 0
    restart: float = 0.0  # Seconds; 0: by model.

    def command(self, binary: Path) -> list[str]:
        """The command line."""
        words = [str(binary), "sim", "--trace", str(self.trace), "--cluster", self.cluster]
        words += ["--slot", f"{self.slot:g}", "--policy", self.policy]
        words += ["--overhead", self.overhead, "--seed", str(self.seed), "--json"]
        if self.speeds is not None:
            words += ["--speeds", str(self.speeds)]
        if self.restart:
            words += ["--restart", f"{self.restart:g}"]
        if self.noise:
            words += ["--noise", f"{self.noise:g}"]
        return words


def simulate(binary: Path, simulation: Simulation) -> dict[str, Any]:
    """The one result row of a simulation, with `cpu_seconds` and `command` added."""
    command = simulation.command(binary)
    finished = run(command)
    try:
        row = json.loads(finished.output)["results"][0]
        float(row["deadline_met_ratio"])
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ChildFailed(f"the output is not the JSON of rubato sim: {error!r}") from error
    result: dict[str, Any] = dict(row)
    result["cpu_seconds"] = finished.cpu_seconds
    result["command"] = " ".join(command)
    return result
