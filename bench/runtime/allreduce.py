"""Sums over the processes of a host, as `allreduce_bench` measures them."""

import json
import shutil
from pathlib import Path
from typing import Any, Dict, List

from machine import BUILD, finish, launch

LIMIT_SECONDS = 1200


def measure(folder: Path, rounds: int) -> List[Dict[str, Any]]:
    """One entry per contender, number of processes and number of bytes."""
    log, result = folder / "allreduce.log", folder / "allreduce.json"
    command: List[Any] = [BUILD / "allreduce_bench", "--rounds", rounds, "--json", result]
    mpirun = shutil.which("mpirun")
    if mpirun is not None:
        command += ["--mpirun", mpirun]
    print(finish(launch(command, log), log, LIMIT_SECONDS), end="", flush=True)
    return json.loads(result.read_text())


def ratio(rows: List[Dict[str, Any]], peer: str, size: int, processes: int = 2) -> float:
    """How many times as long the peer takes."""
    times = {
        row["contender"]: row["median_us"]
        for row in rows
        if row["bytes"] == size and row["processes"] == processes
    }
    return times[peer] / times["rubato"]
