"""Which functions of torch are replaced, and by what. Without a job they do what they always did.

A warm interpreter installs these once; whether they act is decided in each worker, by its
environment.
"""

import functools
import itertools
import os
from typing import Any, Callable

import torch
import torch.nn.utils
import torch.optim.lr_scheduler as lr_scheduler
import torch.utils.data

from rubato.takeover import checks
from rubato.takeover.job import JOB, SHARD

MARK = "_rubato_replaces"
Function = Callable[..., Any]


def replace(owner: Any, name: str, make: Callable[[Function], Function]) -> None:
    """Replaces a function once; `make` gets the one that was there."""
    original = getattr(owner, name, None)
    if original is None or hasattr(original, MARK):
        return
    replacement = functools.wraps(original)(make(original))
    setattr(replacement, MARK, original)
    setattr(owner, name, replacement)


def install() -> None:
    patch_loader()
    patch_optimizer()
    patch_schedulers()
    patch_gradients()
    patch_files()
    patch_distributed()


def patch_loader() -> None:
    def make(original: Function) -> Function:
        def __iter__(self: Any) -> Any:
            return JOB.iterate(self, original) if JOB.is_active else original(self)

        return __iter__

    replace(torch.utils.data.DataLoader, "__iter__", make)


def patch_optimizer() -> None:
    def make_init(original: Function) -> Function:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            # Each class has a `step` of its own, which must be replaced in the class: schedulers
            # look at the method's function.
            if "step" in vars(type(self)):
                replace(type(self), "step", make_step)
            original(self, *args, **kwargs)
            if JOB.is_active:
                JOB.add_optimizer(self)

        return __init__

    def make_step(original: Function) -> Function:
        def step(self: Any, closure: Any = None, **kwargs: Any) -> Any:
            if not JOB.is_active:
                return original(self, closure, **kwargs)
            return JOB.step(self, lambda: original(self, **kwargs), closure)

        return step

    def make_zero(original: Function) -> Function:
        def zero_grad(self: Any, *args: Any, **kwargs: Any) -> None:
            if JOB.session is not None and self is JOB.optimizer:
                JOB.session.flat.zero_gradients()
            else:
                original(self, *args, **kwargs)

        return zero_grad

    replace(torch.optim.Optimizer, "__init__", make_init)
    replace(torch.optim.Optimizer, "zero_grad", make_zero)
    for value in vars(torch.optim).values():
        is_optimizer = isinstance(value, type) and issubclass(value, torch.optim.Optimizer)
        if is_optimizer and value is not torch.optim.Optimizer and "step" in vars(value):
            replace(value, "step", make_step)


def patch_schedulers() -> None:
    def make_init(original: Function) -> Function:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            if "step" in vars(type(self)):
                replace(type(self), "step", make_step)
            original(self, *args, **kwargs)
            if JOB.is_active:
                JOB.add_scheduler(self)

        return __init__

    def make_step(original: Function) -> Function:
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            if JOB.is_active and not JOB.may_schedule:
                return None
            return original(self, *args, **kwargs)

        return step

    for value in vars(lr_scheduler).values():
        if isinstance(value, type) and "step" in vars(value) and "optim" in value.__module__:
            replace(value, "step", make_step)
            if "__init__" in vars(value):
                replace(value, "__init__", make_init)


def patch_gradients() -> None:
    def make_backward(original: Function) -> Function:
        def backward(self: Any, *args: Any, **kwargs: Any) -> Any:
            if JOB.given == SHARD:
                JOB.loss = self
            return original(self, *args, **kwargs)

        return backward

    def make_module_zero(original: Function) -> Function:
        def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
            if JOB.session is not None:
                return original(self, set_to_none=False)  # Gradients stay where they are.
            return original(self, *args, **kwargs)

        return zero_grad

    def make_engine(original: Function) -> Function:
        def backward(tensors: Any, grad_tensors: Any = None, *args: Any, **kwargs: Any) -> Any:
            losses = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
            if grad_tensors is not None and not isinstance(grad_tensors, torch.Tensor):
                grad_tensors = list(grad_tensors)
            gradients = grad_tensors if isinstance(grad_tensors, list) else [grad_tensors]
            for loss, gradient in itertools.zip_longest(losses, gradients):
                JOB.on_backward(loss, gradient)
            return original(losses, grad_tensors, *args, **kwargs)

        return backward

    replace(torch.autograd, "backward", make_engine)
    replace(torch.Tensor, "backward", make_backward)
    replace(torch.nn.Module, "zero_grad", make_module_zero)
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        clip = getattr(torch.nn.utils, name)
        replace(torch.nn.utils.clip_grad, name, make_clip)
        if not hasattr(clip, MARK):
            setattr(torch.nn.utils, name, getattr(torch.nn.utils.clip_grad, name))


def make_clip(original: Function) -> Function:
    """What must be clipped is the gradient of the whole batch, so it is done after the sum."""

    def clip(parameters: Any, limit: float, *args: Any, **kwargs: Any) -> Any:
        if JOB.session is None or JOB.given != SHARD:
            return original(parameters, limit, *args, **kwargs)
        if isinstance(parameters, torch.Tensor):
            parameters = [parameters]
        parameters = list(parameters)
        JOB.clips.append(lambda: original(parameters, limit, *args, **kwargs))
        # Scripts that look at the norm get that of this worker's part.
        return original(parameters, float("inf"), *args, **kwargs)

    return clip


def patch_files() -> None:
    def make_save(original: Function) -> Function:
        def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
            is_file = isinstance(f, (str, os.PathLike))
            if JOB.is_active and is_file and not JOB.may_write:
                return None
            return original(obj, f, *args, **kwargs)

        return save

    def make_load(original: Function) -> Function:
        def load(f: Any, *args: Any, **kwargs: Any) -> Any:
            if JOB.is_active and JOB.session is None and was_written_by_job(f):
                raise JOB.refuse(checks.OWN_CHECKPOINT.format(f))
            return original(f, *args, **kwargs)

        return load

    replace(torch, "save", make_save)
    replace(torch, "load", make_load)


def was_written_by_job(path: Any) -> bool:
    """True for files that are younger than the job's socket."""
    if not isinstance(path, (str, os.PathLike)):
        return False
    try:
        return os.stat(path).st_mtime > os.stat(os.environ["RUBATO_CONDUCTOR"]).st_ctime
    except (KeyError, OSError):
        return False


def patch_distributed() -> None:
    if not torch.distributed.is_available():
        return

    def make(original: Function) -> Function:
        def init_process_group(*args: Any, **kwargs: Any) -> Any:
            if JOB.is_active:
                raise JOB.refuse(checks.OWN_DISTRIBUTED)
            return original(*args, **kwargs)

        return init_process_group

    replace(torch.distributed, "init_process_group", make)
