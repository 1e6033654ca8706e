"""Which parameters an optimizer trains, and whether they can be trained by several workers."""

import inspect
from typing import List, Optional

import torch


def trained_parameters(optimizer: torch.optim.Optimizer) -> List[torch.Tensor]:
    return [
        parameter
        for group in optimizer.param_groups
        for parameter in group["params"]
        if parameter.requires_grad
    ]


def frozen_parameters(optimizer: torch.optim.Optimizer) -> List[torch.Tensor]:
    return [
        parameter
        for group in optimizer.param_groups
        for parameter in group["params"]
        if not parameter.requires_grad
    ]


def needs_closure(optimizer: torch.optim.Optimizer) -> bool:
    """True for optimizers that compute the loss several times in a step, such as LBFGS."""
    closure = inspect.signature(type(optimizer).step).parameters.get("closure")
    return closure is not None and closure.default is inspect.Parameter.empty


def unfit(optimizer: torch.optim.Optimizer) -> Optional[str]:
    """Why this optimizer's parameters cannot be trained here; nothing if they can."""
    if needs_closure(optimizer):
        return (f"{type(optimizer).__name__} calls a closure to compute the loss again within a "
                "step, which workers that share a batch cannot do; use another optimizer, or train "
                "without rubato.Trainer: then the script runs in one process")
    parameters = trained_parameters(optimizer)
    if not parameters:
        return "the optimizer has no parameters that need a gradient"
    for parameter in parameters:
        if parameter.is_cuda:
            return "parameters lie on a CUDA device, and this build of Rubato has no NCCL"
        if parameter.device.type != "cpu":
            return f"parameters lie on the device {parameter.device}; only CPUs are supported"
        if parameter.dtype != torch.float32:
            return f"parameters are {parameter.dtype}; only torch.float32 is supported"
        if parameter.layout != torch.strided:
            return "parameters are sparse tensors"
    return None


def group_sizes(optimizer: torch.optim.Optimizer) -> List[int]:
    return [len(group["params"]) for group in optimizer.param_groups]
