"""Models of which the first batches, or one look at forward alone, do not show that their samples
look at each other or that parts would do something else. Each was once shared wrongly.

    python3 split_cases_hidden.py RESULTS NAME...                    as plain Python
    python3 -m rubato.split split_cases_hidden.py RESULTS NAME...    as a leader
"""

import sys
import tempfile

import torch
from split_training import WIDTH, Body, batches, result, train
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

CASES = {}
SLOPE = 1.0


def case(function):
    CASES[function.__name__] = function
    return function


# Numbers.


@case
def complex_outputs():
    class ComplexOutputs(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = Body().layers[:3]
            self.filter = nn.Parameter(torch.ones(9, dtype=torch.complex128))

        def forward(self, inputs):
            return torch.fft.rfft(self.body(inputs)) * self.filter

    model = ComplexOutputs()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for inputs, targets in batches():
        optimizer.zero_grad()
        loss = (model(inputs) - targets * (1 - 2j)).abs().pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": torch.tensor(losses), "filter": torch.view_as_real(model.filter.detach()),
            "weight": model.body[0].weight.detach()}


@case
def imaginary_coupling():
    class ImaginaryCoupling(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = Body().layers

        def forward(self, inputs):
            found = self.body(inputs)
            return torch.complex(found, found - found.mean(0))

    model = ImaginaryCoupling()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for inputs, targets in batches():
        optimizer.zero_grad()
        loss = (model(inputs).abs() - targets).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return result(model, torch.tensor(losses))


# Layers that normalise in a way of their own.


class Centring(nn.BatchNorm1d):
    """Statistics of the batch as functions compute them, which nobody synchronises."""

    def forward(self, inputs):
        return torch.relu(functional.batch_norm(
            inputs, self.running_mean, self.running_var, self.weight, self.bias, self.training,
            self.momentum, self.eps))


class Ghosts(nn.BatchNorm1d):
    def forward(self, inputs):
        if not self.training:
            return super().forward(inputs)
        return torch.cat([super(Ghosts, self).forward(some) for some in inputs.split(6)])


def normalised(name, layer):
    model = type(name, (Body,), {})(layer)
    losses = train(model)
    model.eval()
    with torch.no_grad():
        outputs = model(next(batches(1))[0])
    return result(model, losses, outputs=outputs)


@case
def norm_with_an_own_forward():
    return normalised("NormWithAnOwnForward", Centring(16))


@case
def norm_without_statistics_and_with_an_own_forward():
    return normalised("NormWithoutStatisticsOfItsOwn", Ghosts(16, track_running_stats=False))


@case
def ghosts_of_a_batch():
    return normalised("GhostsOfABatch", Ghosts(16))


@case
def forward_of_one_layer():
    layer = nn.BatchNorm1d(16)
    layer.forward = lambda inputs: inputs - inputs.mean(0)
    return normalised("ForwardOfOneLayer", layer)


@case
def weights_of_a_hook():
    class WeightsOfAHook(Body):
        pass

    model = WeightsOfAHook()
    nn.utils.weight_norm(model.layers[0])
    return result(model, train(model))


@case
def checkpointed():
    class Checkpointed(Body):
        def forward(self, inputs):
            return self.layers[2:](checkpoint(self.layers[1], self.layers[0](inputs)))

    model = Checkpointed()
    return result(model, train(model))


# Roots that have modules in common.


@case
def coupled_only_in_training():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(16))

        def forward(self, inputs):
            return inputs * self.weight * (1.5 if self.training else 1.0)

    class CoupledOnlyInTraining(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(7)
            self.first, self.scaled = nn.Linear(WIDTH, 16), Scaled()
            self.last = nn.Linear(16, 1)

        def forward(self, inputs):
            hidden = torch.tanh(self.scaled(self.first(inputs)))
            return self.last(hidden - hidden.mean(0) if self.training else hidden)

    model = CoupledOnlyInTraining()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses, outputs = [], []
    for _ in range(3):
        model.train()
        losses.append(train(model, steps=8, optimizer=optimizer))
        model.eval()
        with torch.no_grad():
            outputs.extend(model(inputs) for inputs, _ in batches(3))
    return result(model, torch.cat(losses), outputs=torch.stack(outputs))


# What comes later.


@case
def chosen_by_a_mean():
    class ChosenByAMean(Body):
        def forward(self, inputs):
            scale = torch.where(inputs.mean() > -0.05, 1.5, 0.5)
            return self.layers(inputs * scale)

    model = ChosenByAMean()
    return result(model, train(model))


@case
def gates_that_are_zero():
    class GatesThatAreZero(Body):
        def __init__(self):
            super().__init__()
            self.gate = nn.Parameter(torch.zeros(()))
            nn.init.zeros_(self.layers[-1].weight)

        def forward(self, inputs):
            hidden = self.layers[:-1](inputs)
            return self.layers[-1](hidden + self.gate * hidden.mean(0))

    model = GatesThatAreZero()
    evaluated = []
    with torch.no_grad():
        evaluated += [model(inputs).sum().item() for inputs, _ in batches(4)]
    losses = train(model)
    with torch.no_grad():
        evaluated += [model(inputs).sum().item() for inputs, _ in batches(4)]
    return result(model, losses, evaluated=torch.tensor(evaluated))


@case
def mask_of_the_batch():
    class MaskOfTheBatch(Body):
        def forward(self, inputs):
            mask = (torch.rand(WIDTH).argsort() < 4).to(inputs.dtype)
            return self.layers(inputs * mask), mask

    model = MaskOfTheBatch()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    losses = []
    torch.manual_seed(5)
    for inputs, _ in batches():
        optimizer.zero_grad()
        outputs, mask = model(inputs)
        loss = (outputs - (inputs * mask).sum(1, keepdim=True)).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return result(model, torch.tensor(losses))


# What backward does, what is written, and what leaves no trace.


@case
def hook_that_keeps_gradients():
    class HookThatKeepsGradients(Body):
        def __init__(self):
            super().__init__()
            self.norms = []

        def forward(self, inputs):
            hidden = self.layers[:2](inputs)
            if hidden.requires_grad:
                hidden.register_hook(lambda gradient: self.norms.append(gradient.norm().item()))
            return self.layers[2:](hidden)

    model = HookThatKeepsGradients()
    losses = train(model)
    return result(model, losses, norms=torch.tensor(model.norms))


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs):
        return inputs.clone()

    @staticmethod
    def backward(ctx, gradient):
        return -0.02 * SLOPE * gradient


@case
def global_name_of_a_backward():
    class GlobalNameOfABackward(Body):
        def forward(self, inputs):
            return self.layers[2:](Reversed.apply(self.layers[:2](inputs)))

    def change(step):
        global SLOPE
        SLOPE = 1.0 + step // 8

    model = GlobalNameOfABackward()
    return result(model, train(model, before=change))


@case
def file_written_in_forward():
    class FileWrittenInForward(Body):
        def forward(self, inputs):
            log.write(f"{tuple(inputs.shape)}\n")
            log.flush()
            return self.layers(inputs)

    with tempfile.NamedTemporaryFile("r") as file:
        with open(file.name, "w", encoding="utf-8") as log:
            model = FileWrittenInForward()
            losses = train(model)
        return result(model, losses, lines=file.readlines())


@case
def average_through_data():
    class AverageThroughData(Body):
        def __init__(self):
            super().__init__()
            self.register_buffer("average", torch.zeros(16))

        def forward(self, inputs):
            hidden = self.layers[:2](inputs)
            self.average.data.mul_(0.99).add_(hidden.detach().mean(0), alpha=0.01)
            return self.layers[2:](hidden)

    model = AverageThroughData()
    return result(model, train(model))


@case
def average_of_parameters_in_forward():
    class AverageOfParametersInForward(Body):
        def __init__(self):
            super().__init__()
            self.slow = nn.Linear(WIDTH, 1).requires_grad_(False)
            self.fast = nn.Linear(WIDTH, 1)

        def forward(self, inputs):
            with torch.no_grad():
                for slow, fast in zip(self.slow.parameters(), self.fast.parameters()):
                    slow.data = 0.9 * slow.data + 0.1 * fast.data
            return self.layers(inputs) + self.fast(inputs) - self.slow(inputs)

    model = AverageOfParametersInForward()
    return result(model, train(model))


@case
def last_hidden_layer():
    class LastHiddenLayer(Body):
        def forward(self, inputs):
            self.hidden = self.layers[:2](inputs)
            return self.layers[2:](self.hidden)

    model = LastHiddenLayer()
    sizes = []
    losses = train(model, after=lambda _: sizes.append(model.hidden.norm().item()))
    return result(model, losses, sizes=torch.tensor(sizes))


@case
def parameters_moved_out_of_shared_memory():
    class FirstLayers(nn.Sequential):
        pass

    class LastLayers(nn.Sequential):
        pass

    layers = Body().layers
    first, last = FirstLayers(*layers[:2]), LastLayers(*layers[2:])
    model = nn.ModuleList([first, last])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for step, (inputs, targets) in enumerate(batches()):
        if step % 3 == 2:
            for parameter in model.parameters():
                parameter.data = parameter.data.clone()
        optimizer.zero_grad()
        loss = functional.mse_loss(last(first(inputs)), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": torch.tensor(losses), **model.state_dict()}


def main(path, *names):
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.save({name: CASES[name]() for name in names or CASES}, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
