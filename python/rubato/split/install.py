"""What of torch is replaced in a process that runs a script."""

import atexit
import functools
import os
import threading
from typing import Any

import torch
from torch import nn

from rubato import _core
from rubato.split import (batch_norm, fused, metrics, output_losses, part_losses, prefetch,
                          steps)
from rubato.split.controller import CONTROLLER
from rubato.split.survival import install as survival


def install() -> None:
    """Makes this process a leader. Once; forks are told by their process number."""
    if CONTROLLER.pid != 0:
        return
    CONTROLLER.pid = os.getpid()
    CONTROLLER.thread = threading.get_ident()
    CONTROLLER.call_module = nn.Module.__call__
    _core.keep_freed_memory()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or "1"))
    replace_call()
    batch_norm.install(CONTROLLER)
    part_losses.install(CONTROLLER)
    output_losses.install(CONTROLLER)
    steps.install(CONTROLLER)
    CONTROLLER.link.connect()
    prefetch.install(CONTROLLER)
    fused.install(CONTROLLER)
    atexit.register(CONTROLLER.at_exit)
    metrics.install(CONTROLLER)
    survival.install(CONTROLLER)  # Last: what is replaced above must not see a replay.


def replace_call() -> None:
    """A call is looked up on the type, so the base class is the place."""

    original = nn.Module.__call__

    @functools.wraps(original)
    def call(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        if CONTROLLER.depth:  # Inside a root module, where most calls are.
            return original(self, *args, **kwargs)
        return CONTROLLER.call(self, args, kwargs)

    nn.Module.__call__ = call
