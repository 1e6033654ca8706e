"""Measures the elastic runtime beside its peers, all in one run, and compares with the bars.

Usage: run.py RESULT.json [PART...]     parts: elasticity allreduce throughput overhead single
BENCH_ROUNDS=7                          measurements of which medians are taken
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Sequence

import allreduce
import elasticity
import overhead
import single
import throughput
from bars import table
from machine import Contention, adopt_orphans, load_average
from spread import of_values

MS = 1e3


class Result:
    """The figures, and what the table shows of them."""

    def __init__(self, rounds: int) -> None:
        self.figures: Dict[str, Any] = {"rounds": rounds, "sides": {}}

    def add(self, key: str, value: float, **sides: Any) -> None:
        self.figures[key] = value
        self.figures["sides"][key] = sides


def add_elasticity(result: Result, folder: Path, rounds: int) -> None:
    found = elasticity.measure(folder, rounds)
    details = result.figures["elasticity"] = {
        name: {key: of_values([r[key] for r in runs]) for key in runs[0]}
        for name, runs in found.items()
    }
    for key, peer, what in (("pause_grow_vs_torchrun", "torchrun", "pause"),
                            ("pause_grow_vs_reinit", "reinit", "pause"),
                            ("recovery_vs_torchrun", "torchrun", "recovery"),
                            ("order_vs_torchrun", "torchrun", "order")):
        theirs, ours = details[peer][what]["median"], details["rubato"][what]["median"]
        each = [p[what] / o[what] for p, o in zip(found[peer], found["rubato"])]
        result.add(key, theirs / ours, peer=f"{theirs * MS:.1f} ms", ours=f"{ours * MS:.1f} ms",
                   spread=(min(each), max(each)))


def add_allreduce(result: Result, folder: Path, rounds: int) -> None:
    rows = result.figures["allreduce"] = allreduce.measure(folder, rounds)
    contenders = {row["contender"] for row in rows}
    for key, peer, size in (("allreduce_4k_vs_gloo", "gloo", 1 << 12),
                            ("allreduce_1m_vs_gloo", "gloo", 1 << 20),
                            ("allreduce_64m_vs_gloo", "gloo", 1 << 26),
                            ("allreduce_1m_vs_openmpi", "openmpi", 1 << 20)):
        if peer in contenders:
            times = {row["contender"]: row["median_us"] for row in rows
                     if row["bytes"] == size and row["processes"] == 2}
            result.add(key, allreduce.ratio(rows, peer, size), peer=f"{times[peer]:.1f} us",
                       ours=f"{times['rubato']:.1f} us")


def add_throughput(result: Result, folder: Path, rounds: int) -> None:
    found = result.figures["throughput"] = throughput.measure(folder, rounds)
    for name, by_workers in found.items():
        for workers, suffix in ((2, ""), (4, "_4")):
            one = by_workers[workers]
            rates = one["samples_per_second"]
            result.add(f"throughput_{name}_vs_ddp{suffix}", one["ratio"]["median"],
                       peer=f"{rates['ddp']:.0f}/s", ours=f"{rates['ours']:.0f}/s",
                       spread=(one["ratio"]["min"], one["ratio"]["max"]))


def add_overhead(result: Result, folder: Path, rounds: int) -> None:
    found = result.figures["overhead"] = overhead.measure(folder, rounds)
    for key, name in (("wrapper_overhead_cnn", "wrapper_cnn"),
                      ("noise_scale_overhead_cnn", "noise_scale_cnn")):
        one = found[name]
        result.add(key, one["median"], peer=f"{one['base_ms']:.2f} ms",
                   ours=f"{one['other_ms']:.2f} ms", spread=(one["min"], one["max"]))


def add_single(result: Result, folder: Path, rounds: int) -> None:
    """Unmodified scripts, which run in one process with replicas."""
    found = result.figures["single"] = single.measure(folder, rounds)
    for name, one in found.items():
        for key, peer, ours in (("one_vs_plain", "plain", "one"), ("vs_plain", "plain", "two"),
                                ("vs_one", "one", "two"), ("vs_spmd", "every", "two")):
            result.add(f"single_{name}_{key}", one[key]["median"],
                       peer=f"{one['ms'][peer]:.2f} ms", ours=f"{one['ms'][ours]:.2f} ms",
                       spread=(one[key]["min"], one[key]["max"]))


PARTS: Dict[str, Callable[[Result, Path, int], None]] = {
    "elasticity": add_elasticity,
    "allreduce": add_allreduce,
    "throughput": add_throughput,
    "overhead": add_overhead,
    "single": add_single,
}


def run(target: Path, parts: Sequence[str]) -> None:
    rounds = int(os.environ.get("BENCH_ROUNDS", "7"))
    result = Result(rounds)
    print(f"load average {load_average()} on {os.cpu_count()} processors, {rounds} rounds")
    adopt_orphans()
    whole = Contention()
    for part in parts:
        account = Contention()
        with tempfile.TemporaryDirectory(prefix="rubato-bench-") as folder:
            PARTS[part](result, Path(folder), rounds)
        result.figures[f"others_share_{part}"] = account.others_share()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(result.figures, indent=2) + "\n")
    print(f"\n{table(result.figures)}\n\nload average {load_average()}")
    warning = whole.warning()
    if warning is not None:
        print(warning)


def main() -> None:
    target, *parts = sys.argv[1:]
    unknown = set(parts) - set(PARTS)
    if unknown:
        sys.exit(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    run(Path(target), parts or list(PARTS))


main()
