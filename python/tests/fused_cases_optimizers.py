"""Loops whose optimizers change, are looked into, or are of other kinds."""

import copy
import io

import torch
from fused_loop import Loop, adam, adamw, case
from torch import nn

# Optimizers that change.


@case
def closures():
    loop = Loop(adamw)
    for _, images, labels in loop.batches():

        def closure(images=images, labels=labels):
            loop.optimizer.zero_grad()
            loss = loop.loss(images, labels)
            loss.backward()
            return loss

        loop.see(loop.optimizer.step(closure))
    return loop


@case
def state_is_loaded():
    loop, kept = Loop(), {}

    def reload(step):
        if step == 4:
            kept["optimizer"] = copy.deepcopy(loop.optimizer.state_dict())
            kept["model"] = copy.deepcopy(loop.model.state_dict())
        if step == 9:
            loop.optimizer.load_state_dict(kept["optimizer"])
            loop.model.load_state_dict(kept["model"])

    return loop.train(reload)


@case
def state_is_held():
    loop, held = Loop(), []

    def hold(step):
        if step == 4:
            held.append(loop.optimizer.state_dict()["state"][0]["momentum_buffer"])
        if held:
            loop.see(*held)

    return loop.train(hold)


@case
def state_is_held_from_the_beginning():
    loop, held = Loop(adamw), []

    def hold(step):
        if step == 1:
            held.extend(loop.optimizer.state_dict()["state"][2].values())
        loop.see(*held)

    return loop.train(after_step=hold)


@case
def state_is_saved():
    loop = Loop(adamw)

    def save(step):
        if step % 5 == 0:
            file = io.BytesIO()
            torch.save(loop.optimizer.state_dict(), file)
            loop.see(file.tell())
            file.seek(0)
            for entry in torch.load(file)["state"].values():
                loop.see(*entry.values())

    return loop.train(save, save)


@case
def state_is_reset():
    loop = Loop(adamw)

    def reset(step):
        if step == 7:
            for state in loop.optimizer.state.values():
                for tensor in state.values():
                    tensor.zero_()

    return loop.train(reset)


@case
def model_and_optimizer_are_copied():
    loop = Loop(adamw).train(steps=6)
    loop.model, loop.optimizer = copy.deepcopy((loop.model, loop.optimizer))
    return loop.train(steps=6)


@case
def settings_change():
    loop = Loop(lambda p: torch.optim.SGD(p, 0.05))

    def change(step):
        group = loop.optimizer.param_groups[0]
        group["lr"] *= 0.9
        if step == 4:
            group["momentum"] = 0.9
        if step == 6:
            group["weight_decay"] = 0.01
        if step == 8:
            group["maximize"] = True
        if step == 9:
            group["maximize"] = False
        if step == 10:
            group["momentum"] = 0

    return loop.train(change)


@case
def parameters_are_added_and_frozen():
    loop = Loop()
    loop.optimizer = adam(loop.model[3:].parameters())

    def change(step):
        if step == 4:
            loop.optimizer.add_param_group({"params": loop.model[0].parameters(), "lr": 3e-4})
        if step == 8:
            loop.model[3].requires_grad_(False)

    return loop.train(after_step=change)


@case
def parameters_are_replaced():
    loop = Loop()

    def replace(step):
        if step in (4, 8):
            loop.model[0].weight.data = loop.model[0].weight.data * 0.5
        if step == 6:
            with torch.no_grad():
                loop.model[3].weight.mul_(0.9)

    return loop.train(replace)


@case
def parameters_are_replaced_before_the_backward():
    """The replicas know the memory that they had in the forward."""
    loop = Loop(adamw)
    for step, images, labels in loop.batches():
        loop.optimizer.zero_grad()
        loss = loop.loss(images, labels)
        if step in (5, 8):
            loop.model[3].weight.data = loop.model[3].weight.data.clone()
        if step == 10:
            loop.model[3].weight.data = loop.model[3].weight.data.clone().share_memory_()
        loss.backward()
        loop.optimizer.step()
    return loop


@case
def a_parameter_is_never_used():
    loop = Loop()
    loop.model.extra = nn.Linear(3, 3)
    loop.model.forward = lambda images: nn.Sequential(*list(loop.model.children())[:-1])(images)
    loop.optimizer = adamw(loop.model.parameters())
    return loop.train()


@case
def other_optimizers():
    for options in ({"foreach": True}, {"amsgrad": True}, {"maximize": True}):
        loop = Loop(lambda p: torch.optim.Adam(p, 1e-3, **options)).train(steps=4)
        loop.see(*loop.result())
    return loop


@case
def optimizers_of_other_kinds():
    class Halving(torch.optim.SGD):
        def step(self, closure=None):
            for group in self.param_groups:
                for parameter in group["params"]:
                    parameter.grad.mul_(0.5)
            return super().step(closure)

    for kind in (torch.optim.RMSprop, Halving, torch.optim.LBFGS):
        loop = Loop(lambda p: kind(p, 0.01))
        for _, images, labels in loop.batches(6):

            def closure(images=images, labels=labels):
                loop.optimizer.zero_grad(set_to_none=True)
                loss = loop.loss(images, labels)
                loss.backward()
                return loss

            if kind is Halving:
                closure()
                loop.optimizer.step()
            else:
                loop.see(loop.optimizer.step(closure))
        loop.see(*loop.result())
    return loop


@case
def double_precision():
    return Loop(adam, dtype=torch.float64).train()


@case
def rates_that_are_tensors():
    loop = Loop(lambda p: torch.optim.SGD(p, 0.1, momentum=0.5))
    loop.optimizer.param_groups[0]["lr"] = torch.tensor(0.1)
    return loop.train(steps=5)


@case
def a_graph_that_a_step_has_made_stale():
    """Autograd must notice that a parameter has changed since."""
    loop = Loop(adam)
    for _, images, labels in loop.batches(8):
        scale = torch.ones(300, 64, requires_grad=True)
        late = (loop.model[0].weight * scale).sum()
        loop.optimizer.zero_grad()
        loop.loss(images, labels).backward()
        loop.optimizer.step()
        try:
            late.backward()
            loop.see("unnoticed")
        except RuntimeError as error:
            loop.see("modified by an inplace operation" in str(error))
    return loop


@case
def zeros_with_a_sign():
    """Gradients of nothing but negative zeros, added to nothing and to zero."""
    for set_to_none in (False, True):
        loop = Loop(lambda p: torch.optim.SGD(p, 0.05, momentum=0.9))
        for _, images, labels in loop.batches(6):
            loop.optimizer.zero_grad(set_to_none=set_to_none)
            (loop.loss(images, labels) * -0.0).backward()
            loop.optimizer.step()
            loop.see(*[torch.signbit(state["momentum_buffer"])
                       for state in loop.optimizer.state.values()])
        loop.see(*loop.result())
    return loop


@case
def many_models_after_each_other():
    for _ in range(5):
        loop = Loop(adamw).train(steps=5)
        loop.see(*loop.result())
    return loop
