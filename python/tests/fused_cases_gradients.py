"""Loops that leave gradients alone, look at them, change them, or get them from elsewhere."""

import os
import threading

import torch
from fused_loop import LOSS, Loop, adam, adamw, case, digest, nesterov
from torch import nn

# Loops that nobody looks into.


@case
def sgd():
    return Loop(lambda p: torch.optim.SGD(p, 0.1)).train()


@case
def sgd_with_momentum():
    return Loop().train()


@case
def adam_set_to_none():
    return Loop(adam).train(set_to_none=True)


@case
def adamw_after_the_step():
    loop = Loop(adamw)
    return loop.train(after_step=lambda _: loop.optimizer.zero_grad())


@case
def accumulation():
    loop = Loop(adam)
    for step, images, labels in loop.batches(15):
        (loop.loss(images, labels) / 3).backward()
        if step % 3 == 0:
            loop.optimizer.step()
            loop.optimizer.zero_grad()
    return loop


@case
def zero_by_module_and_by_hand():
    loop = Loop(adamw)
    for step, images, labels in loop.batches():
        if step % 2:
            loop.model.zero_grad()
        else:
            for parameter in loop.model.parameters():
                parameter.grad = None
        loop.loss(images, labels).backward()
        loop.optimizer.step()
    return loop


@case
def groups_and_a_schedule():
    loop = Loop()
    loop.optimizer = torch.optim.Adam([
        {"params": loop.model[0].parameters(), "lr": 1e-3},
        {"params": loop.model[3].parameters(), "weight_decay": 0.1},
        {"params": loop.model[5].parameters(), "betas": (0.8, 0.99)}], 2e-3)
    schedule = torch.optim.lr_scheduler.StepLR(loop.optimizer, 3, 0.7)
    return loop.train(after_step=lambda _: schedule.step())


@case
def clipping():
    loop = Loop(adamw)

    def clip(_):
        loop.see(nn.utils.clip_grad_norm_(loop.model.parameters(), 0.05))

    return loop.train(clip)


@case
def clipping_that_seldom_clips():
    loop = Loop()
    return loop.train(lambda _: loop.see(
        nn.utils.clip_grad_norm_(loop.model.parameters(), 2.1)), set_to_none=True)


@case
def clipping_of_some():
    loop = Loop()
    return loop.train(lambda _: loop.see(
        nn.utils.clip_grad_norm_(loop.model[0].parameters(), 0.01)))


# Loops that look at gradients, or change them.


@case
def reads_gradients():
    loop = Loop()

    def look(step):
        if step % 4 == 0:
            loop.see(loop.model[0].weight.grad)

    return loop.train(look, look)


@case
def looks_only_after_a_late_step():
    """Until then nobody has added up anything."""
    loop = Loop()
    return loop.train(after_step=lambda step: step < 9 or loop.see(
        *[parameter.grad for parameter in loop.model.parameters()]))


@case
def clips_and_looks_after_a_late_step():
    loop = Loop(adamw)

    def clip(_):
        nn.utils.clip_grad_norm_(loop.model.parameters(), 0.5)

    return loop.train(clip, lambda step: step < 9 or loop.see(loop.model[0].weight.grad),
                      set_to_none=True)


@case
def steps_twice_with_the_same_gradients():
    loop = Loop()
    return loop.train(after_step=lambda step: step % 3 or loop.optimizer.step())


@case
def adds_to_gradients_that_a_step_has_used():
    loop = Loop(adam)
    for step, images, labels in loop.batches():
        if step % 4 == 0:
            loop.optimizer.zero_grad()
        loop.loss(images, labels).backward()
        loop.optimizer.step()
    loop.see(loop.model[0].weight.grad)
    return loop


@case
def zeros_some_gradients_after_a_step():
    loop = Loop()

    def zero_some(step):
        if step == 5:
            loop.model[:3].zero_grad()
        if step == 8:
            loop.model[0].weight.grad.zero_()

    for step, images, labels in loop.batches():
        loop.loss(images, labels).backward()
        loop.optimizer.step()
        zero_some(step)
    return loop


@case
def reads_gradients_set_to_none():
    loop = Loop(adamw)
    return loop.train(lambda step: step % 4 or loop.see(loop.model[3].weight.grad),
                      set_to_none=True)


@case
def changes_gradients():
    loop = Loop()

    def change(step):
        model = loop.model
        if step == 3:
            model[3].bias.grad.mul_(0.5)
        if step == 6:
            model[5].weight.grad = torch.ones_like(model[5].weight)
        if step == 8:
            model[0].bias.grad = None
        if step == 10:
            del model[0].weight.grad

    return loop.train(change)


@case
def holds_gradients():
    loop, held = Loop(), []

    def hold(step):
        if step == 5:
            held.append(loop.model[0].weight.grad)
            held.append(loop.model[3].weight.grad.detach().view(-1))
        if held:
            loop.see(*held)

    return loop.train(hold, hold)


@case
def holds_gradients_set_to_none():
    loop, held = Loop(), []

    def hold(step):
        if step in (5, 8):
            held.append(loop.model[0].weight.grad.detach().view(-1))
        if held:
            loop.see(*held)

    return loop.train(hold, hold, set_to_none=True)


@case
def holds_a_gradient_from_the_beginning():
    loop, held = Loop(), []

    def hold(step):
        if step == 1:
            held.append(loop.model[0].weight.grad.detach())
        loop.see(*held)

    return loop.train(hold, hold)


@case
def clips_by_value():
    loop = Loop()
    return loop.train(lambda _: nn.utils.clip_grad_value_(loop.model.parameters(), 0.001))


@case
def clips_and_looks():
    loop = Loop(adamw)

    def clip(step):
        loop.see(nn.utils.clip_grad_norm_(loop.model.parameters(), 0.05))
        if step > 6:
            loop.see(loop.model[0].weight.grad)

    return loop.train(clip, lambda step: step != 9 or loop.see(loop.model[3].bias.grad))


@case
def reads_gradients_in_another_thread():
    loop = Loop()

    def look(step):
        if step % 5 == 0:
            thread = threading.Thread(target=lambda: loop.see(loop.model[0].weight.grad))
            thread.start()
            thread.join()

    return loop.train(look)


@case
def reads_gradients_in_a_fork():
    loop = Loop()

    def look(step):
        if step % 5 == 0:
            reading, writing = os.pipe()
            if os.fork() == 0:
                os.write(writing, digest(loop.model[0].weight.grad).encode())
                os._exit(0)
            os.close(writing)
            with os.fdopen(reading) as file:
                loop.see(file.read())
            os.wait()

    return loop.train(look)


@case
def updates_by_hand():
    loop = Loop()
    for _, images, labels in loop.batches():
        loop.model.zero_grad()
        loop.loss(images, labels).backward()
        with torch.no_grad():
            for parameter in loop.model.parameters():
                parameter -= 0.1 * parameter.grad
    return loop


# Gradients from elsewhere.


@case
def regulariser():
    loop = Loop()
    for step, images, labels in loop.batches():
        loop.optimizer.zero_grad()
        loss = loop.loss(images, labels)
        if step % 3 == 0:
            loss = loss + 0.01 * sum((p ** 2).sum() for p in loop.model.parameters())
        loss.backward()
        loop.optimizer.step()
    return loop


@case
def gradients_by_grad():
    loop = Loop()
    for step, images, labels in loop.batches():
        loop.optimizer.zero_grad()
        loss = loop.loss(images, labels)
        if step % 4 == 3:
            parameters = list(loop.model.parameters())
            for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters)):
                parameter.grad = gradient * 0.5
        else:
            loss.backward()
        loop.optimizer.step()
    return loop


@case
def two_calls_in_one_loss():
    loop = Loop()
    for _, images, labels in loop.batches():
        loop.optimizer.zero_grad()
        (loop.loss(images, labels) + loop.loss(images * 0.9, labels)).backward()
        loop.optimizer.step()
    return loop


@case
def two_backwards_in_one_step():
    loop = Loop(adam)
    for _, images, labels in loop.batches():
        loop.optimizer.zero_grad(set_to_none=True)
        first, second = loop.loss(images, labels), loop.loss(images * 0.9, labels)
        first.backward()
        second.backward()
        loop.optimizer.step()
    return loop


@case
def two_backwards_of_one_graph():
    loop = Loop()
    for _, images, labels in loop.batches(6):
        loop.optimizer.zero_grad()
        loss = loop.loss(images, labels)
        loss.backward(retain_graph=True)
        loss.backward()
        loop.optimizer.step()
    return loop


@case
def hook_on_a_parameter():
    loop = Loop()
    loop.model[0].weight.register_hook(lambda gradient: gradient * 2)
    return loop.train(steps=6)


@case
def two_roots_and_one_optimizer():
    torch.manual_seed(3)
    body, head = nn.Sequential(nn.Linear(64, 400), nn.ReLU()), nn.Linear(400, 10)
    loop = Loop(adamw, nn.ModuleList([body, head]))
    for step, images, labels in loop.batches():
        loop.optimizer.zero_grad()
        LOSS(head(body(images)), labels).backward()
        if step > 5:
            nn.utils.clip_grad_norm_(loop.model.parameters(), 0.2)
        loop.optimizer.step()
    return loop


@case
def two_optimizers_of_one_root():
    loop = Loop()
    loop.optimizer = adam(loop.model[:3].parameters())
    other = nesterov(loop.model[3:].parameters())

    def step_other(_):
        other.step()
        other.zero_grad()

    loop.train(after_step=step_other)
    loop.see(*[state["momentum_buffer"] for state in other.state.values()])
    return loop
