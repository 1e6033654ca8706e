"""Draws jobs as the evaluation of OASiS does and measures what policies make of them."""

import json
import math
import pathlib
import random
import subprocess

SLOT = 3600.0  # Seconds.
SLOTS = 80  # During which jobs arrive.
RUBATO = pathlib.Path("build/rubato")


def powers_up_to(most):
    counts = [1 << i for i in range(most.bit_length()) if 1 << i <= most]
    return counts if counts[-1] == most else counts + [most]


def value(draw):
    """Of the paper: a sigmoid; a tenth of jobs does not mind waiting, a third minds much."""
    kind = draw.random()
    steepness = 0.0 if kind < 0.10 else draw.uniform(0.01, 1) if kind < 0.65 else draw.uniform(4, 6)
    amount = draw.uniform(1, 100)
    if steepness == 0:
        return {"kind": "constant", "amount": amount / 2}
    return {"kind": "sigmoid", "amount": amount, "decay": steepness / SLOT, "knee": draw.uniform(1, 15) * SLOT}


def job(number, arrival, draw):
    """Time per mini-batch is a hundredth of the range as printed; see README.md."""
    chunks = draw.randint(5, 100)
    slots = draw.randint(50, 200) * chunks * draw.randint(10, 100) * draw.uniform(0.00001, 0.001)
    return {
        "id": number, "class": "best_effort", "arrival": arrival, "work": max(1.0, slots) * SLOT,
        "model": "linear", "batch": 1, "requested": draw.randint(1, min(30, chunks)),
        "workers": {"listed": powers_up_to(chunks)}, "value": value(draw),
    }


def write_trace(path, jobs, seed):
    draw = random.Random(seed)
    arrivals = sorted(draw.uniform(0, SLOTS * SLOT) for _ in range(jobs))
    lines = [{"format": "rubato-trace/2", "source": "experiments/oasis", "seed": seed}]
    lines += [job(number + 1, math.floor(at), draw) for number, at in enumerate(arrivals)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_speeds(path):
    rows = ["gpu_type,model,global_batch,gpus,iters_per_s"]
    rows += [f"A100,linear,1,{gpus},{gpus}" for gpus in range(1, 101)]
    path.write_text("\n".join(rows) + "\n")


def registered():
    text = subprocess.run([RUBATO, "policy", "list"], check=True, capture_output=True, text=True).stdout
    return {line.split()[0] for line in text.splitlines() if line.strip()}


def total_values(folder, policies, jobs, seeds, cluster):
    """Mean total value of each policy over the seeds."""
    folder.mkdir(parents=True, exist_ok=True)
    write_speeds(folder / "speeds.csv")
    totals = {policy: 0.0 for policy in policies}
    for seed in seeds:
        trace = folder / f"{jobs}-{seed}.jsonl"
        write_trace(trace, jobs, seed)
        command = [RUBATO, "sim", "--trace", trace, "--speeds", folder / "speeds.csv", "--cluster", cluster,
                   "--policy", ",".join(policies), "--slot", "60", "--json"]
        result = subprocess.run(command, check=True, capture_output=True, text=True)
        for run in json.loads(result.stdout)["results"]:
            totals[run["policy"]] += run["total_value"] / len(seeds)
    return totals
