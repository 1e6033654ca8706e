"""Small training loops in which gradients that are pending, or steps that are shared, could be
noticed. Run by test_fused_step.py as a leader: prints a line for each case, with hashes of all that
the loop has seen and made."""

import json
import os
import random
import signal
import sys
import threading
import time

import fused_cases_gradients  # noqa: F401  Adds its cases.
import fused_cases_optimizers  # noqa: F401
from fused_loop import CASES, Loop, adamw, case

from rubato.split.controller import CONTROLLER

def kill_replicas_in_steps(every, seed):
    """From now on. Nothing if steps are not shared."""
    steps = CONTROLLER.gradient_areas
    queue = getattr(steps, "queue", None)
    if queue is None:
        return
    moments = random.Random(seed)

    class Killing:
        count = 0

        def __getattr__(self, name):
            return getattr(queue, name)

        def run(self, table, work, is_fused, mailboxes, is_alive):
            self.count += 1
            if self.count % every == 0:
                pid = moments.choice(CONTROLLER.group.replicas).pid
                delay = moments.random() * 300e-6

                def kill():
                    until = time.perf_counter() + delay
                    while time.perf_counter() < until:
                        pass
                    os.kill(pid, signal.SIGKILL)

                threading.Thread(target=kill, daemon=True).start()
            queue.run(table, work, is_fused, mailboxes, is_alive)

    steps.queue = Killing()


@case
def replicas_are_killed_in_steps():
    loop = Loop(adamw).train(steps=4)
    steps = CONTROLLER.gradient_areas
    queue = getattr(steps, "queue", None)
    kill_replicas_in_steps(every=2, seed=5)
    try:
        return loop.train(steps=60)
    finally:
        if queue is not None:
            steps.queue = queue


def main(names):
    if os.environ.get("CASES_WRONG_KERNELS"):
        steps = CONTROLLER.gradient_areas
        steps.start()
        steps.is_fused = not steps.is_fused
    for name in names or CASES:
        steps = CONTROLLER.gradient_areas
        before = [getattr(steps, "taken", 0), getattr(steps, "helped", 0)]
        result = CASES[name]().result()
        after = [getattr(steps, "taken", 0), getattr(steps, "helped", 0)]
        print(json.dumps({"case": name, "result": result, "taken": after[0] - before[0],
                          "helped": after[1] - before[1], "deaths": CONTROLLER.group.deaths}),
              flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
