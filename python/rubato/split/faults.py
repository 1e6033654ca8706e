"""Faults that tests ask for, so that what must survive them can be tried out.

RUBATO_SPLIT_KILL="100:F,150:B"   a replica is killed in forward of call 100, in backward of 150;
                                  L: in a loss that is computed on the parts
RUBATO_TEST_PERTURB=1e-3          gradients of shared calls are wrong by this factor
"""

import os
import signal
from typing import Any, List, Optional, Set, Tuple

import torch


class Faults:
    """None, unless the environment says otherwise."""

    def __init__(self) -> None:
        text = os.environ.get("RUBATO_SPLIT_KILL", "")
        self.kills: Set[Tuple[int, str]] = set()
        for entry in filter(None, text.split(",")):
            call, _, phase = entry.partition(":")
            self.kills.add((int(call), phase))
        self.factor = float(os.environ.get("RUBATO_TEST_PERTURB", "0"))

    def on_forward(self, call: Any) -> None:
        if self.kills:
            self.kill(call, "F")

    def on_loss(self, call: Any) -> None:
        if self.kills:
            self.kill(call, "L")

    def on_backward(self, call: Any) -> None:
        if self.kills:
            self.kill(call, "B")

    def kill(self, call: Any, phase: str) -> None:
        """The first call at or after the wanted one."""
        due = [entry for entry in self.kills if entry[1] == phase and entry[0] <= call.number]
        if due and call.replicas:
            self.kills.discard(due[0])
            os.kill(call.replicas[-1].pid, signal.SIGKILL)

    def on_gradients(
        self, gradients: List[Optional[torch.Tensor]]
    ) -> List[Optional[torch.Tensor]]:
        if not self.factor:
            return gradients
        return [None if gradient is None else gradient * (1 + self.factor)
                for gradient in gradients]
