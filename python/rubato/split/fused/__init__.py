"""Optimizer steps that idle replicas help with.

The gradients of a shared backward stay where the parts left them until the optimizer's step, which
adds them up, clips, and updates parameters and state in one pass over memory, in pieces that the
leader and its idle replicas take in turns. With one worker the step is still one pass. Everything
has the same bits as without this, and whatever is not known to be so is left to torch.

    kernels.py        whether our kernels have the bits of torch's own
    blocks.py         shared memory that is used again
    gradients.py      gradients of a root's parameters, pending or added up
    graph.py          whether a call is all that gives its parameters gradients
    plans.py          how an optimizer's step is taken
    shared_steps.py   all of that in one leader
    idle.py           a replica that waits helps
    patches.py        what of torch is replaced

The environment variable RUBATO_FUSED_STEP=0 turns it off.
"""

import os
from typing import Any

from rubato.split.fused import patches
from rubato.split.fused.idle import IdleSteps
from rubato.split.fused.shared_steps import SharedSteps, is_enabled


def install(controller: Any) -> None:
    """In a leader, after all others that replace something of optimizers, `backward` or idle
    work."""
    if not is_enabled():
        return
    steps = SharedSteps(controller)
    controller.gradient_areas = steps
    controller.idle_work = IdleSteps(steps, controller.idle_work)
    os.register_at_fork(before=steps.before_fork, after_in_parent=steps.after_fork,
                        after_in_child=steps.after_fork)
    patches.install(steps)
