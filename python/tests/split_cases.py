"""Small models in double precision, each trained for some steps in a way that sharing its calls
could get wrong. What they end with must not depend on who computed what.

    python3 split_cases.py RESULTS NAME...                    as plain Python
    python3 -m rubato.split split_cases.py RESULTS NAME...    as a leader

RESULTS is a file with a dictionary by name of tensors and plain values. A class is named after the
case that uses it, so that a report tells which calls were shared.
"""

import copy
import sys
import traceback

import torch
import split_reader_cases  # noqa: F401  Adds its cases.
from split_training import CASES, WIDTH, Body, batches, case, result, train
from torch import nn
from torch.nn import functional

SCALES = {"global": 1.0}
FACTOR = 1.0


# Whatever is plain.


@case
def plain():
    class Plain(Body):
        pass

    model = Plain()
    return result(model, train(model, steps=50))


@case
def adam_with_clipping():
    class AdamWithClipping(Body):
        pass

    model = AdamWithClipping()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    norms = []
    for inputs, targets in batches():
        optimizer.zero_grad()
        functional.mse_loss(model(inputs), targets).backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.5).item())
        optimizer.step()
    return result(model, torch.tensor(norms), moments=[
        state["exp_avg_sq"].clone() for state in optimizer.state.values()])


@case
def accumulation_and_two_calls():
    class AccumulationAndTwoCalls(Body):
        pass

    model = AccumulationAndTwoCalls()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    losses = []
    for step, (inputs, targets) in enumerate(batches()):
        first, second = model(inputs), model(inputs * 0.5)
        loss = functional.mse_loss(first, targets) + (first - second).pow(2).mean()
        loss.backward()
        losses.append(loss.item())
        if step % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
    return result(model, torch.tensor(losses))


@case
def gradients_of_inputs():
    class GradientsOfInputs(Body):
        pass

    model = GradientsOfInputs()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    seen = []
    for inputs, targets in batches():
        inputs = inputs.clone().requires_grad_()
        functional.mse_loss(model(inputs), targets).backward()
        seen.append(inputs.grad.clone())
        optimizer.step()
        optimizer.zero_grad()
    return result(model, torch.stack(seen))


@case
def gradients_of_gradients():
    class GradientsOfGradients(Body):
        pass

    model = GradientsOfGradients()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for inputs, targets in batches(20):
        inputs = inputs.clone().requires_grad_()
        outputs = model(inputs)
        slope, = torch.autograd.grad(outputs.sum(), inputs, create_graph=True)
        loss = functional.mse_loss(outputs, targets) + 0.1 * slope.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return result(model, torch.tensor(losses))


@case
def second_backward():
    class SecondBackward(Body):
        pass

    model = SecondBackward()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for inputs, targets in batches(20):
        outputs = model(inputs)
        loss = functional.mse_loss(outputs, targets)
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        (0.1 * outputs.abs().mean()).backward()
        optimizer.step()
        losses.append(loss.item())
    return result(model, torch.tensor(losses))


@case
def closures_of_an_optimizer():
    class ClosuresOfAnOptimizer(Body):
        pass

    model = ClosuresOfAnOptimizer()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
    calls = []
    for inputs, targets in batches(10):
        def closure():
            calls.append(1)
            optimizer.zero_grad()
            loss = functional.mse_loss(model(inputs), targets)
            loss.backward()
            return loss

        optimizer.step(closure)
    return result(model, torch.tensor(0.0), calls=len(calls))


# Layers that look at the whole batch.


def normalised(name, **options):
    model = type(name, (Body,), {})(nn.BatchNorm1d(16, **options))
    losses = train(model)
    model.eval()
    with torch.no_grad():
        outputs = model(next(batches(1))[0])
    return result(model, losses, outputs=outputs)


@case
def batch_norm():
    return normalised("BatchNorm")


@case
def batch_norm_without_momentum():
    return normalised("BatchNormWithoutMomentum", momentum=None)


@case
def batch_norm_without_weights():
    return normalised("BatchNormWithoutWeights", affine=False)


@case
def batch_norm_without_statistics():
    model = type("BatchNormWithoutStatistics", (Body,), {})(
        nn.BatchNorm1d(16, track_running_stats=False))
    return result(model, train(model))


# What is not split, or only in part.


@case
def mean_over_the_batch():
    class MeanOverTheBatch(Body):
        def forward(self, inputs):
            return self.layers(inputs - inputs.mean(0))

    model = MeanOverTheBatch()
    return result(model, train(model))


@case
def queue_of_samples():
    class QueueOfSamples(Body):
        def __init__(self):
            super().__init__()
            self.register_buffer("queue", torch.zeros(40, WIDTH))

        def forward(self, inputs):
            self.queue = torch.cat([inputs.detach(), self.queue])[:40]
            return self.layers(inputs) + self.queue.mean()

    model = QueueOfSamples()
    return result(model, train(model))


@case
def counter_in_forward():
    class CounterInForward(Body):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, inputs):
            self.calls += 1
            return self.layers(inputs) * (1 + 0.01 * (self.calls % 3))

    model = CounterInForward()
    return result(model, train(model), calls=model.calls)


@case
def scripted():
    class Scripted(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = Body().layers

        def forward(self, inputs):
            return self.body(inputs)

    model = torch.jit.script(Scripted())
    return result(model, train(model, steps=50))


@case
def traced_after_training():
    class TracedAfterTraining(Body):
        pass

    model = TracedAfterTraining()
    losses = train(model, steps=50)
    inputs = [inputs for inputs, _ in batches(3)]
    traced = torch.jit.trace(model, inputs[0])
    return result(model, losses, outputs=torch.stack([traced(one).detach() for one in inputs]),
                  nodes=len(list(traced.inlined_graph.nodes())))


@case
def counter_of_a_scripted_module():
    class CounterOfAScriptedModule(nn.Module):
        calls: int

        def __init__(self):
            super().__init__()
            self.body = Body().layers
            self.calls = 0

        def forward(self, inputs):
            self.calls += 1
            return self.body(inputs) * (1 + 0.01 * (self.calls % 3))

    model = torch.jit.script(CounterOfAScriptedModule())
    return result(model, train(model), calls=model.calls)


def with_loss_inside(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for inputs, targets in batches():
        optimizer.zero_grad()
        loss = model(inputs, targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return result(model, torch.tensor(losses))


@case
def loss_inside():
    class LossInside(Body):
        def forward(self, inputs, targets):
            return functional.mse_loss(self.layers(inputs), targets)

    return with_loss_inside(LossInside())


@case
def loss_of_the_batch_inside():
    class LossOfTheBatchInside(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = InnerBody()

        def forward(self, inputs, targets):
            return torch.logsumexp((self.body(inputs) - targets).abs(), 0).squeeze()

    class InnerBody(Body):
        pass

    return with_loss_inside(LossOfTheBatchInside())


# What changes while it is trained.


@case
def attribute_that_changes():
    class AttributeThatChanges(Body):
        scale = 1.0

        def forward(self, inputs):
            return self.layers(inputs) * self.scale

    model = AttributeThatChanges()

    def change(step):
        model.scale = 1.0 + 0.01 * (step % 7)

    return result(model, train(model, before=change))


@case
def container_that_changes():
    class ContainerThatChanges(Body):
        def __init__(self):
            super().__init__()
            self.settings = {"scales": [1.0, 1.0]}

        def forward(self, inputs):
            return self.layers(inputs) * self.settings["scales"][1]

    model = ContainerThatChanges()

    def change(step):
        if step % 10 == 5:
            model.settings["scales"][1] = 1.0 + 0.001 * step

    return result(model, train(model, before=change))


@case
def parameters_bound_anew():
    class ParametersBoundAnew(Body):
        pass

    model = ParametersBoundAnew()

    def clamp(step):
        if step % 6 == 3:
            for parameter in model.parameters():
                parameter.data = parameter.data.clamp(-0.3, 0.3)

    return result(model, train(model, after=clamp))


@case
def weights_loaded():
    class WeightsLoaded(Body):
        pass

    model = WeightsLoaded()
    first = copy.deepcopy(model.state_dict())

    def load(step):
        if step % 15 == 14:
            model.load_state_dict(first)

    return result(model, train(model, after=load))


@case
def average_swapped_in():
    class AverageSwappedIn(Body):
        pass

    model = AverageSwappedIn()
    average = copy.deepcopy(model)
    evaluated = []

    def swap(step):
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), model.parameters()):
                slow.lerp_(fast, 0.1)
            if step % 10 == 9:
                kept = [p.data for p in model.parameters()]
                for parameter, slow in zip(model.parameters(), average.parameters()):
                    parameter.data = slow.data
                evaluated.append(model(next(batches(1))[0]).mean().item())
                for parameter, values in zip(model.parameters(), kept):
                    parameter.data = values

    losses = train(model, after=swap)
    return result(model, losses, evaluated=torch.tensor(evaluated),
                  average=[p.detach().clone() for p in average.parameters()])


@case
def layers_added():
    class LayersAdded(Body):
        def __init__(self):
            super().__init__()
            self.more = nn.ModuleList()

        def forward(self, inputs):
            for layer in self.more:
                inputs = inputs + layer(inputs).tanh()
            return self.layers(inputs)

    model = LayersAdded()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def add(step):
        if step in (12, 30):
            torch.manual_seed(step)
            model.more.append(nn.Linear(WIDTH, WIDTH))
            optimizer.add_param_group({"params": model.more[-1].parameters()})

    return result(model, train(model, optimizer=optimizer, before=add))


@case
def parameters_frozen_and_thawed():
    class ParametersFrozenAndThawed(Body):
        pass

    model = ParametersFrozenAndThawed()

    def freeze(step):
        if step % 10 == 0:
            model.layers[0].requires_grad_(step % 20 == 0)

    return result(model, train(model, before=freeze))


@case
def hook_added_later():
    class HookAddedLater(Body):
        pass

    model = HookAddedLater()
    shapes = []

    def add(step):
        if step == 20:
            model.layers[0].register_forward_hook(
                lambda module, inputs, output: shapes.append(tuple(output.shape)))

    losses = train(model, before=add)
    return result(model, losses, shapes=shapes)


@case
def hook_on_a_gradient():
    class HookOnAGradient(Body):
        pass

    model = HookOnAGradient()
    calls = []

    def halve(gradient):
        calls.append(gradient.clone())
        return gradient * 0.5

    def add(step):
        if step == 20:
            model.layers[0].weight.register_hook(halve)

    losses = train(model, before=add)
    return result(model, losses, calls=torch.stack(calls))


@case
def global_names():
    class GlobalNames(Body):
        def forward(self, inputs):
            return self.layers(inputs) * SCALES["global"] * FACTOR

    model = GlobalNames()

    def change(step):
        global FACTOR
        SCALES["global"] = 1.0 + 0.01 * (step % 5)
        FACTOR = 1.0 - 0.01 * (step % 3)

    return result(model, train(model, before=change))


@case
def names_of_a_closure():
    scale = 1.0

    class NamesOfAClosure(Body):
        def forward(self, inputs):
            return self.layers(inputs) * scale

    model = NamesOfAClosure()

    def change(step):
        nonlocal scale
        scale = 1.0 + 0.01 * (step % 4)

    return result(model, train(model, before=change))


@case
def names_behind_a_function():
    def scaled(outputs):
        return outputs * SCALES["global"]

    class NamesBehindAFunction(Body):
        def forward(self, inputs):
            return scaled(self.layers(inputs))

    model = NamesBehindAFunction()

    def change(step):
        SCALES["global"] = 1.0 + 0.02 * (step % 6)

    return result(model, train(model, before=change))


@case
def function_replaced():
    class FunctionReplaced(Body):
        activation = staticmethod(torch.tanh)

        def forward(self, inputs):
            return self.layers(self.activation(inputs))

    model = FunctionReplaced()

    def change(step):
        if step == 15:
            FunctionReplaced.activation = staticmethod(torch.sigmoid)

    return result(model, train(model, before=change))


@case
def inference_mode():
    class InferenceMode(Body):
        pass

    model = InferenceMode()
    evaluated = []

    def evaluate(step):
        with torch.inference_mode():
            inputs = next(batches(1))[0]
            output = model(inputs)
            evaluated.append(output.mul_(2).sum().item())
            assert output.is_inference() and inputs.is_inference()

    losses = train(model, before=evaluate)
    return result(model, losses, evaluated=torch.tensor(evaluated))


@case
def training_and_evaluation():
    class TrainingAndEvaluation(Body):
        def forward(self, inputs):
            return self.layers(inputs) * (1.1 if self.training else 1.0)

    model = TrainingAndEvaluation()
    evaluated = []

    def evaluate(step):
        if step % 5 == 0:
            model.eval()
            with torch.no_grad():
                evaluated.append(model(next(batches(1))[0]).mean().item())
            model.train()

    losses = train(model, before=evaluate)
    return result(model, losses, evaluated=torch.tensor(evaluated))


@case
def batches_of_many_sizes():
    class BatchesOfManySizes(Body):
        pass

    model = BatchesOfManySizes()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    losses = []
    for step, (inputs, targets) in enumerate(batches()):
        size = [24, 1, 7, 2, 24, 3, 0][step % 7]
        optimizer.zero_grad()
        loss = (model(inputs[:size]) - targets[:size]).pow(2).sum() / max(1, size)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return result(model, torch.tensor(losses))


@case
def exceptions_that_are_caught():
    class ExceptionsThatAreCaught(Body):
        def forward(self, inputs):
            if inputs[0, 0] > 1.5:
                raise ValueError("the first sample is too large")
            return self.layers(inputs)

    model = ExceptionsThatAreCaught()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for inputs, targets in batches():
        optimizer.zero_grad()
        try:
            loss = functional.mse_loss(model(inputs), targets)
        except ValueError:
            losses.append(-1.0)
            continue
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return result(model, torch.tensor(losses))


def main(path, *names):
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    results = {}
    for name in names or CASES:
        try:
            results[name] = CASES[name]()
        except Exception:
            results[name] = {"error": traceback.format_exc()}
    torch.save(results, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
