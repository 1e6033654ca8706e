"""What of torch is replaced so that gradients may be pending and steps be shared."""

import functools
import inspect
from typing import Any, Callable, Iterable, List, Optional

import torch
from torch import nn

from rubato.split.fused.plans import KINDS
from rubato.split.part import GRAD


class Internal:
    """While torch's own code looks at gradients, that is not the script looking."""

    def __init__(self, steps: Any) -> None:
        self.steps = steps

    def __enter__(self) -> None:
        self.steps.internal += 1

    def __exit__(self, *_: Any) -> None:
        self.steps.internal -= 1


def install(steps: Any) -> None:
    replace_grad(steps)
    replace_backward(steps)
    for kind in vars(torch.optim).values():
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer):
            # That of L-BFGS calls the script's closure in between.
            if kind not in (torch.optim.Optimizer, torch.optim.LBFGS):
                replace_step(steps, kind)
    replace_zero_grad(steps)
    replace_clipping(steps)


def replace_grad(steps: Any) -> None:
    controller = steps.controller

    def get(parameter: nn.Parameter) -> Optional[torch.Tensor]:
        return steps.on_read(parameter) if controller.is_leader else GRAD.__get__(parameter)

    def put(parameter: nn.Parameter, gradient: Optional[torch.Tensor]) -> None:
        if controller.is_leader:
            steps.on_assigned(parameter)
        GRAD.__set__(parameter, gradient)

    def delete(parameter: nn.Parameter) -> None:
        put(parameter, None)

    nn.Parameter.grad = property(get, put, delete, GRAD.__doc__)


def replace_backward(steps: Any) -> None:
    original = torch.autograd.backward

    @functools.wraps(original)
    def backward(tensors: Any, grad_tensors: Any = None, retain_graph: Optional[bool] = None,
                 create_graph: bool = False, grad_variables: Any = None,
                 inputs: Any = None) -> None:
        arguments = (tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
        if not steps.controller.is_leader or not (steps.groups or steps.controller.outstanding):
            original(*arguments)
            return
        before = steps.claimed
        is_plain = (isinstance(tensors, torch.Tensor) and not retain_graph and not create_graph
                    and inputs is None)
        if is_plain:
            steps.claim(tensors)
        else:
            steps.claimed = []
            steps.settle()
        try:
            original(*arguments)
        finally:
            steps.claimed = before  # Inside another backward, as checkpoints do it.

    torch.autograd.backward = backward


def replace_step(steps: Any, kind: type) -> None:
    original = kind.step
    if getattr(original, "hooked", False):  # By an optimizer that was made before.
        original = inspect.unwrap(original, stop=lambda f: not getattr(f, "hooked", False))

    @functools.wraps(original)
    def step(self: Any, closure: Optional[Callable[[], Any]] = None, **others: Any) -> Any:
        if not steps.controller.is_leader or others:
            return original(self, closure, **others)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        is_known = kind in KINDS and type(self) is kind
        plan = steps.plans.current(self) if is_known and steps.start() else None
        if plan is None or not plan.run(self):
            steps.settle()
            with Internal(steps):
                original(self)
        return loss

    kind.step = step


def replace_zero_grad(steps: Any) -> None:
    of_optimizer, of_module = torch.optim.Optimizer.zero_grad, nn.Module.zero_grad

    def zero(parameters: List[Any], set_to_none: bool) -> bool:
        """False if torch has to do it."""
        if not steps.controller.is_leader:
            return False
        groups, rest = steps.covered(parameters) if steps.groups else ([], parameters)
        if any([id(parameter) in steps.owners for parameter in rest]):
            return False
        for parameter in rest:
            zero_one(parameter, set_to_none)
        return all([group.zero(set_to_none) for group in groups])

    @functools.wraps(of_optimizer)
    def optimizer_zero_grad(self: Any, set_to_none: bool = False) -> None:
        parameters = [p for group in self.param_groups for p in group["params"]]
        if self.defaults.get("foreach") or not zero(parameters, set_to_none):
            with Internal(steps):
                of_optimizer(self, set_to_none)

    @functools.wraps(of_module)
    def module_zero_grad(self: nn.Module, set_to_none: bool = False) -> None:
        if not zero(list(self.parameters()), set_to_none):
            with Internal(steps):
                of_module(self, set_to_none)

    torch.optim.Optimizer.zero_grad = optimizer_zero_grad
    nn.Module.zero_grad = module_zero_grad


def zero_one(parameter: Any, set_to_none: bool) -> None:
    """As torch does it."""
    gradient = GRAD.__get__(parameter)
    if gradient is not None and set_to_none:
        GRAD.__set__(parameter, None)
    elif gradient is not None:
        if gradient.grad_fn is not None:
            gradient.detach_()
        else:
            gradient.requires_grad_(False)
        gradient.zero_()


def replace_clipping(steps: Any) -> None:
    original = nn.utils.clip_grad_norm_

    @functools.wraps(original)
    def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0,
                        error_if_nonfinite: bool = False) -> torch.Tensor:
        given = [parameters] if isinstance(parameters, torch.Tensor) else parameters
        given = list(given) if isinstance(given, Iterable) else given
        if steps.controller.is_leader and steps.groups and not error_if_nonfinite:
            norm = clip_pending(steps, given, float(max_norm), float(norm_type))
            if norm is not None:
                return norm
        with Internal(steps):
            return original(given, max_norm, norm_type, error_if_nonfinite)

    nn.utils.clip_grad_norm_ = clip_grad_norm_
    nn.utils.clip_grad.clip_grad_norm_ = clip_grad_norm_


def clip_pending(steps: Any, parameters: List[Any], max_norm: float,
                 norm_type: float) -> Optional[torch.Tensor]:
    """The norm, as torch computes it; gradients are scaled by the step that uses them. Nothing if
    torch has to do it."""
    groups, rest = steps.covered(parameters)
    if rest or not groups or norm_type != 2.0 or len(parameters) != len(
            {id(parameter) for parameter in parameters}):
        return None
    for group in groups:
        if group.is_read or not group.has_gradients():
            return None
    views = {}
    for group in groups:
        group.settle()
        views.update(zip(map(id, group.parameters), group.views))
    gradients = [views[id(parameter)] for parameter in parameters]
    with torch.no_grad():
        norm = torch.norm(torch.stack([torch.norm(gradient, 2.0) for gradient in gradients]), 2.0)
        factor = torch.clamp(max_norm / (norm + 1e-6), max=1.0).item()
    for group in groups:
        group.scale = None if factor == 1.0 else factor
    return norm
