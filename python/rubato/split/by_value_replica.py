"""The process of a replica that is no fork: python3 -m rubato.split.by_value_replica FILE RANK

FILE is the descriptor of the memory that the leader shares. The replica gets root modules by value,
then answers the same requests as a forked one.
"""

import ctypes
import gc
import os
import signal
import sys
from typing import Any, Optional

import torch
from torch import nn

from rubato import _core
from rubato.split import batch_norm, by_value, part_losses
from rubato.split.by_value_group import HELLO, RehearsalRequest, RootMessage, TensorUpdate
from rubato.split.child import PR_SET_PDEATHSIG
from rubato.split.controller import CONTROLLER
from rubato.split.memory import Memory, on_the_device, tensors_of
from rubato.split.rehearsal import Rehearsal
from rubato.split.replica import Reply, Server


class ByValueServer(Server):
    """In such a replica."""

    def answer(self, request: Any) -> Optional[Reply]:
        if isinstance(request, TensorUpdate):
            self.update(request)
            return None
        if isinstance(request, RootMessage):
            self.add_root(request)
            return Reply([by_value.machine_kind()])
        if isinstance(request, RehearsalRequest):
            return Reply([self.rehearse(request)])
        return super().answer(request)

    def add_root(self, message: RootMessage) -> None:
        module: nn.Module = by_value.unpack(message.module, self.memory)
        self.add_module(message.root, module)

    @torch.no_grad()
    def update(self, message: TensorUpdate) -> None:
        tensors = tensors_of(self.modules[message.root])
        for at, place in message.values:
            target = tensors[at]
            target.copy_(on_the_device(self.memory.view(place), target.device),
                         non_blocking=True)

    def rehearse(self, request: RehearsalRequest) -> Any:
        module, spec, leaves, settings = by_value.unpack(request.call, self.memory)
        torch.set_default_dtype(settings.default_dtype)
        rehearsal = Rehearsal(CONTROLLER, module, spec, leaves, settings)
        return rehearsal.verdict()


def main() -> None:
    descriptor, rank = int(sys.argv[1]), int(sys.argv[2])
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The leader decides what an interrupt means.
    if os.getppid() != parent:
        os._exit(0)
    _core.keep_freed_memory()
    torch.set_num_threads(1)
    gc.freeze()
    CONTROLLER.memory = Memory(descriptor)
    CONTROLLER.become_replica()
    batch_norm.install(CONTROLLER)
    part_losses.install(CONTROLLER)
    server = ByValueServer(CONTROLLER, rank)
    server.mailbox.reply(HELLO)
    server.serve()


if __name__ == "__main__":
    main()
