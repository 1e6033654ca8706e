"""One replay of a Pollux workload, and the averages that its reference simulator gives."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path

from bad_config import BadConfig
from child import run

# What the reference simulator calls each policy.
REFERENCE_COLUMNS = {
    "tiresias:thresholds=57600": "tiresias_avg_jct_s",
    "optimus": "optimus_avg_jct_s",
    "pollux": "pollux_avg_jct_s",
}
# Ours alone: nobody published figures on these workloads for them.
OTHERS = ("sia", "srtf", "afs-l")
CLUSTER = "16x4:T4"


@dataclass(frozen=True)
class Replay:
    """Seconds; restarts for each job."""

    average: float
    p99: float
    makespan: float
    changes: float


def load_reference(path: Path) -> dict[str, dict[str, float]]:
    """Average JCT by workload, then policy."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {
                row["workload"]: {name: float(row[column]) for name, column in REFERENCE_COLUMNS.items()}
                for row in csv.DictReader(file)
            }
    except (OSError, KeyError, ValueError) as error:
        raise BadConfig(f"{path.name}: {error!r}") from error


def replay(binary: Path, data: Path, workload: str, policy: str) -> Replay:
    """Runs the program; its defaults for profiles are those of the reference simulator."""
    words = [str(binary), "sim", "--format", "pollux", "--json", "--cluster", CLUSTER]
    words += ["--trace", str(data / "workloads" / f"{workload}.csv")]
    words += ["--profiles", str(data / "traces"), "--policy", policy]
    result = json.loads(run(words).output)["results"][0]
    changes = result["resizes"] + result["migrations"]
    return Replay(
        average=result["jct_avg_seconds"],
        p99=result["jct_p99_seconds"],
        makespan=result["makespan_seconds"],
        changes=changes / result["jobs"],
    )
