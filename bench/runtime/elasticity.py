"""Growing a job from two to three workers, and killing one: ours, torchrun, and re-initialisation.

pause      from the end of the last step at the old size to the start of the first at the new one;
           ours and re-initialisation: of the survivor that waited longest
order      from the order to grow to the end of the first step at the new size
recovery   from SIGKILL of a worker to the end of the next step that its peers committed together
"""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Callable, Dict, List

from machine import BUILD, end_sessions, finish, free_port, launch, program
from stamps import Step, now, read_stamps

GROW_AT = 30
SETTLED_STEPS = 12  # After growing, before one is killed.
LIMIT_SECONDS = 120
POLL_SECONDS = 0.02

Round = Dict[str, float]


def wait_for(folder: Path, is_reached: Callable[[List[Step]], bool]) -> List[Step]:
    """Waits until the steps of a job are as wished."""
    end = now() + LIMIT_SECONDS
    while now() < end:
        steps = read_stamps(folder)
        if is_reached(steps):
            return steps
        time.sleep(POLL_SECONDS)
    raise RuntimeError(f"{folder.name}: stuck after {len(read_stamps(folder))} steps")


def count(steps: List[Step], size: int) -> int:
    return len({step.number for step in steps if step.size == size})


def longest_pause(steps: List[Step]) -> float:
    """Of the processes that trained at both sizes."""
    pauses = []
    for process in {step.process for step in steps}:
        own = [step for step in steps if step.process == process]
        old = [step.ended for step in own if step.size == 2]
        new = [step.began for step in own if step.size == 3]
        if old and new:
            pauses.append(min(new) - max(old))
    return max(pauses)


def kill_one(steps: List[Step], seed: int) -> float:
    """Kills a worker that trained lately; returns when."""
    members = sorted({step.process for step in steps[-6:] if step.size == 3})
    victim = random.Random(seed).choice(members)
    at = now()
    os.kill(victim, signal.SIGKILL)
    return at


def rubato_round(folder: Path, seed: int) -> Round:
    log = folder / "log"
    job = launch(
        [BUILD / "rubato", "train", "--workers", 2, "--resize", f"at step {GROW_AT}: 3", "--json",
         "--directory", folder / "job", "--", *program("rubato_program.py", folder, 64)],
        log,
    )
    try:
        steps = wait_for(folder, lambda steps: count(steps, 3) >= SETTLED_STEPS)
        pause = longest_pause(steps)
        generation = steps[-1].generation
        killed = kill_one(steps, seed)
        steps = wait_for(folder, lambda steps: steps[-1].generation > generation)
        recovered = min(step.ended for step in steps if step.generation > generation)
        os.kill(job.pid, signal.SIGTERM)
        job.wait(LIMIT_SECONDS)
        timeline = json.loads(log.with_suffix(".out").read_text())
        grown = next(g for g in timeline["generations"] if g["cause"] == "resize to 3")
        return {
            "pause": pause,
            "order": grown["first_step_latency_seconds"],
            "recovery": recovered - killed,
            "lost_steps": sum(g["lost_steps"] for g in timeline["generations"]),
        }
    finally:
        end_sessions([job])


def reinit_round(folder: Path, seed: int) -> Round:
    del seed  # Nobody is killed: in the same process, an error would have to be survived first.
    port = free_port()
    jobs = [
        launch(program("reinit_program.py", folder, rank, port, GROW_AT, GROW_AT + SETTLED_STEPS),
               folder / f"{rank}.log")
        for rank in range(3)
    ]
    try:
        for rank, job in enumerate(jobs):
            finish(job, folder / f"{rank}.log", LIMIT_SECONDS)
        return {"pause": longest_pause(read_stamps(folder))}
    finally:
        end_sessions(jobs)


def torchrun_agent(folder: Path, port: int, index: int) -> subprocess.Popen:
    return launch(
        program(
            "torchrun_repaired.py", "--nnodes=2:3", "--nproc_per_node=1", "--rdzv_backend=c10d",
            f"--rdzv_endpoint=127.0.0.1:{port}", "--rdzv_id=bench",
            "--rdzv_conf=last_call_timeout=1", "--monitor_interval=0.05", "--max_restarts=9",
            *program("torchrun_program.py", folder)[1:],
        ),
        folder / f"{index}.log",
    )


def torchrun_round(folder: Path, seed: int) -> Round:
    """Tuned: the third agent is the last that is allowed, so that nobody waits for a fourth."""
    port = free_port()
    agents = [torchrun_agent(folder, port, index) for index in range(2)]
    try:
        wait_for(folder, lambda steps: count(steps, 2) >= GROW_AT)
        ordered = now()
        agents.append(torchrun_agent(folder, port, 2))
        steps = wait_for(folder, lambda steps: count(steps, 3) >= SETTLED_STEPS)
        old_end = max(step.ended for step in steps if step.size == 2)
        new_begin = min(step.began for step in steps if step.size == 3)
        new_end = min(step.ended for step in steps if step.size == 3)
        old_last = max(step.number for step in steps if step.size == 2)
        new_first = min(step.number for step in steps if step.size == 3)
        known = {step.process for step in steps}
        killed = kill_one(steps, seed)
        steps = wait_for(folder, lambda steps: any(s.process not in known for s in steps))
        recovered = min(step.ended for step in steps if step.process not in known)
        return {
            "pause": new_begin - old_end,
            "order": new_end - ordered,
            "recovery": recovered - killed,
            "lost_steps": float(old_last - new_first + 1),
        }
    finally:
        end_sessions(agents)


ROUNDS = {"rubato": rubato_round, "reinit": reinit_round, "torchrun": torchrun_round}


def measure(folder: Path, rounds: int) -> Dict[str, List[Round]]:
    """All three in turn, so that whatever else the machine does meets each of them alike."""
    found: Dict[str, List[Round]] = {name: [] for name in ROUNDS}
    for number in range(rounds):
        for name, run in ROUNDS.items():
            place = folder / f"elasticity-{name}-{number}"
            place.mkdir()
            found[name].append(run(place, number))
            shown = ", ".join(f"{key} {value:.4f}" for key, value in found[name][-1].items())
            print(f"  elasticity {number + 1}/{rounds} {name}: {shown}", flush=True)
    return found
