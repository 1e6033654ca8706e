"""Models in double precision whose batch takes some 60 MB, trained for a few steps.

    python3 memory_cases.py RESULTS NAME...                    as plain Python
    python3 -m rubato.split memory_cases.py RESULTS NAME...    as a leader

ROOM in the environment leaves a worker so many bytes beside those that it has when training begins:
as RUBATO_WORKER_MEMORY, or, if LIMIT names one of the system's limits, by that.
"""

import os
import resource
import sys

import torch
from torch import nn
from torch.nn import functional

CASES = {}
BATCH, WIDTH, LAYERS, STEPS = 3072, 256, 6, 3
IGNORED = 2
PAGE = resource.getpagesize()


def case(function):
    CASES[function.__name__] = function
    return function


def pages(field):
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[field]) * PAGE


def leave_room():
    room = int(os.environ.get("ROOM", "0"))
    limit = os.environ.get("LIMIT", "")
    if not room:
        return
    if limit:
        field = {"RLIMIT_AS": 0, "RLIMIT_DATA": 5}[limit]
        bound = pages(field) + room
        resource.setrlimit(getattr(resource, limit), (bound, bound))
    else:
        os.environ["RUBATO_WORKER_MEMORY"] = str(pages(1) + room)


class Stretched(nn.Module):
    """Takes much memory and little time."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(WIDTH))
        self.shift = nn.Parameter(torch.randn(WIDTH))

    def forward(self, inputs):
        return torch.tanh(inputs * self.scale + self.shift)


class Body(nn.Module):
    """Many layers, each of which keeps its outputs for backward."""

    def __init__(self, *extra):
        super().__init__()
        torch.manual_seed(7)
        layers = []
        for _ in range(LAYERS):
            layers += [Stretched(), *[make() for make in extra]]
        self.layers = nn.Sequential(nn.Linear(10, WIDTH), *layers, nn.Linear(WIDTH, 3))

    def forward(self, inputs):
        return self.layers(inputs)


def batches(steps=STEPS):
    generator = torch.Generator().manual_seed(11)
    for _ in range(steps):
        inputs = torch.randn(BATCH, 10, generator=generator)
        yield inputs, (inputs.sum(1) > 0).long() + (inputs[:, 0] > 1).long()


def train(model, loss_of=None, steps=STEPS):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for inputs, targets in batches(steps):
        optimizer.zero_grad()
        loss = (loss_of(inputs, targets) if loss_of
                else functional.cross_entropy(model(inputs), targets))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": torch.tensor(losses), **model.state_dict()}


@case
def plain():
    class Plain(Body):
        pass

    return train(Plain())


@case
def loss_inside():
    class LossInside(Body):
        def forward(self, inputs, targets):
            outputs = self.layers(inputs)
            return {"loss": functional.cross_entropy(outputs, targets, ignore_index=IGNORED),
                    "outputs": outputs}

    model = LossInside()
    return train(model, lambda inputs, targets: model(inputs, targets)["loss"])


@case
def normalised():
    class Normalised(Body):
        pass

    return train(Normalised(lambda: nn.BatchNorm1d(WIDTH)))


@case
def gradients_of_inputs():
    class GradientsOfInputs(Body):
        def forward(self, inputs, *, shift):
            return self.layers(inputs + shift), inputs.detach() * 2

    model = GradientsOfInputs()
    shift = nn.Parameter(torch.zeros(10))
    found = []

    def loss_of(inputs, targets):
        inputs.requires_grad_()
        outputs, doubled = model(inputs, shift=shift * 2)
        assert outputs.requires_grad and not doubled.requires_grad
        loss = functional.cross_entropy(outputs, targets)
        found.append(inputs)
        loss.backward(retain_graph=True)  # The loop has a second one.
        return loss

    state = train(model, loss_of)
    return {**state, "inputs": [inputs.grad for inputs in found], "shift": shift.grad}


@case
def evaluation():
    class Evaluation(Body):
        pass

    model = Evaluation()
    state = train(model)
    with torch.no_grad():
        return {**state, "outputs": [model.eval()(inputs) for inputs, _ in batches(1)]}


@case
def dropout():
    """Other random numbers than in plain Python: what must hold is that backward had the same as
    forward."""
    class Dropout(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(WIDTH * 4))
            self.drop = nn.Dropout(0.3)

        def forward(self, inputs):
            for _ in range(4):
                inputs = torch.tanh(inputs) + 1
            return self.drop(inputs) * self.scale

    model = Dropout()
    errors = []
    for step in range(STEPS):
        inputs = torch.randn(BATCH, WIDTH * 4)
        outputs = model(inputs)
        gradient = torch.randn(outputs.shape)
        model.scale.grad = None
        outputs.backward(gradient)
        expected = (outputs.detach() / model.scale.detach() * gradient).sum(0)
        errors.append((model.scale.grad - expected).abs().max() / expected.abs().max())
        kept = (outputs != 0).double().mean().item()
        assert abs(kept - 0.7) < 0.01, kept
        with torch.no_grad():
            model.scale += 0.1 * (step + 1)
    return {"errors": torch.stack(errors)}


@case
def drawn():
    """Random numbers whose bits are compared."""
    class Drawn(Body):
        pass

    torch.manual_seed(5)
    return train(Drawn(lambda: nn.Dropout(0.3)))


class Greedy(torch.autograd.Function):
    """Takes the memory of a batch in one direction, so that it runs out."""

    @staticmethod
    def forward(ctx, inputs, rows_forward, rows_backward):
        ctx.rows = rows_backward
        fail_beyond(len(inputs), rows_forward)
        return inputs * 1

    @staticmethod
    def backward(ctx, gradient):
        fail_beyond(len(gradient), ctx.rows)
        return gradient, None, None


def fail_beyond(rows, rows_max):
    if rows > rows_max and os.environ.get("GREEDY"):
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:66] . DefaultCPUAllocator: can't "
                           "allocate memory: you tried to allocate 1 bytes.")


@case
def forward_runs_out():
    class ForwardRunsOut(Body):
        def forward(self, inputs):
            return self.layers(Greedy.apply(inputs, BATCH // 5, BATCH))

    return train(ForwardRunsOut())


@case
def backward_runs_out():
    class BackwardRunsOut(Body):
        def forward(self, inputs):
            return Greedy.apply(self.layers(inputs), BATCH // 2, BATCH // 5)

    return train(BackwardRunsOut())


@case
def changed_in_between():
    """Torch refuses it, and so must we: the graph is not what it was."""
    class ChangedInBetween(Body):
        pass

    model = ChangedInBetween()
    inputs, targets = next(batches())
    loss = functional.cross_entropy(model(inputs), targets)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1)
    try:
        loss.backward()
    except RuntimeError as error:
        return {"refused": torch.tensor(float("in-place" in str(error) or "in place" in str(error)
                                              or "inplace" in str(error)))}
    return {"refused": torch.tensor(0.0)}


def main():
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    functional.linear(torch.ones(64, 64), torch.ones(64, 64))  # What a BLAS keeps is there.
    leave_room()
    torch.save({name: CASES[name]() for name in sys.argv[2:]}, sys.argv[1])


if __name__ == "__main__":
    main()
