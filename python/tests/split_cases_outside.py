"""Models whose forward depends on what lies outside their parameters and arguments, or becomes
another function while they train. Each was once shared as if it did not.

    python3 split_cases_outside.py RESULTS NAME...                    as plain Python
    python3 -m rubato.split split_cases_outside.py RESULTS NAME...    as a leader
"""

import enum
import functools
import sys
import types

import torch
from torch import nn
from torch.nn.utils import stateless

CASES = {}
STEPS, BATCH, WIDTH, CHANGES_AT = 10, 24, 6, 6


def case(function):
    CASES[function.__name__] = function
    return function


def linear(outputs=1, seed=3):
    torch.manual_seed(seed)
    return nn.Linear(WIDTH, outputs)


def train(model, *, more=(), before=None, call=None):
    """Losses and parameters; `before` is called with the number of each step."""
    parameters = [*model.parameters(), *more]
    optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.5)
    generator, losses = torch.Generator().manual_seed(1), []
    for step in range(STEPS):
        inputs = torch.randn(BATCH, WIDTH, generator=generator)
        if before:
            before(step)
        optimizer.zero_grad()
        outputs = call(step, inputs) if call else model(inputs)
        loss = (outputs - inputs.sin().sum(1, keepdim=True)).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": torch.tensor(losses), "parameters": [p.detach().clone() for p in parameters]}


class Lambda(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, inputs):
        return self.function(inputs)


def gain_at(step):
    return 1.0 if step < CHANGES_AT else 1.5


def through(function):
    return nn.Sequential(Lambda(function), linear())


# What is trained, but is no parameter of the module.

GLOBAL_LAYER = linear(WIDTH, 5)
GLOBAL_WEIGHT = torch.ones(WIDTH, dtype=torch.float64, requires_grad=True)


@case
def layer_of_the_file():
    class LayerOfTheFile(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = linear()

        def forward(self, inputs):
            return self.last(torch.tanh(GLOBAL_LAYER.to(inputs.dtype)(inputs)))

    return train(LayerOfTheFile(), more=GLOBAL_LAYER.to(torch.float64).parameters())


@case
def weight_of_the_file():
    class WeightOfTheFile(nn.Linear):
        def forward(self, inputs):
            return super().forward(inputs * GLOBAL_WEIGHT)

    torch.manual_seed(3)
    return train(WeightOfTheFile(WIDTH, 1), more=[GLOBAL_WEIGHT])


@case
def layer_in_a_list():
    class LayerInAList(nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.last, self.layers = linear(), [layer]

        def forward(self, inputs):
            return self.last(torch.tanh(self.layers[0](inputs)))

    layer = linear(WIDTH, 5)
    return train(LayerInAList(layer), more=layer.parameters())


@case
def layer_of_a_closure():
    layer = linear(WIDTH, 5)
    return train(through(lambda inputs: torch.tanh(layer(inputs))), more=layer.parameters())


@case
def weights_that_have_a_history():
    """The module's own parameters are put aside for tensors computed from them."""
    class WeightsThatHaveAHistory(nn.Linear):
        pass

    torch.manual_seed(3)
    model = WeightsThatHaveAHistory(WIDTH, 1)

    def call(step, inputs):
        if step < CHANGES_AT:
            return model(inputs)
        halved = {name: 0.5 * p for name, p in model.named_parameters()}
        return stateless.functional_call(model, halved, (inputs,))

    return train(model, call=call)


@case
def average_of_a_closure():
    """Not trained, but changed by the script at every step."""
    layer = linear(WIDTH, 5).requires_grad_(False)

    def change(step):
        with torch.no_grad():
            layer.weight.mul_(1.01)

    return train(through(lambda inputs: torch.tanh(layer(inputs))), before=change)


# Settings in odd places, changed while they train.


def with_settings(make):
    settings = {"gain": 1.0}
    return train(make(settings), before=lambda step: settings.update(gain=gain_at(step)))


@case
def settings_of_a_function():
    return with_settings(lambda s: through(lambda inputs: inputs * s["gain"]))


@case
def settings_of_a_default():
    return with_settings(lambda s: through(lambda inputs, s=s: inputs * s["gain"]))


@case
def settings_of_a_partial():
    return with_settings(lambda s: through(
        functools.partial(lambda settings, inputs: inputs * settings["gain"], s)))


@case
def settings_of_an_own_forward():
    def make(settings):
        model = through(torch.tanh)
        inner = model.forward
        model.forward = lambda inputs: inner(inputs) * settings["gain"]
        return model

    return with_settings(make)


class Gain:
    def __init__(self):
        self.value = 1.0

    def __call__(self, inputs):
        return inputs * self.value


@case
def settings_of_an_object():
    gain = Gain()
    return train(through(gain), before=lambda step: setattr(gain, "value", gain_at(step)))


@case
def settings_of_a_method():
    gain = Gain()
    return train(through(gain.__call__), before=lambda step: setattr(gain, "value", gain_at(step)))


class Names(types.SimpleNamespace):
    pass


CONFIG = Names(model=Names(options=Names(gain=1.0)))


class Config:
    gain = 1.0
    table = {"gain": 1.0}


class Configured(nn.Linear):
    def forward(self, inputs):
        return super().forward(inputs) * CONFIG.model.options.gain * Config.gain


class Tabled(nn.Linear):
    table = {"gain": 1.0}

    def forward(self, inputs):
        return super().forward(inputs) * self.table["gain"]


@case
def settings_deep_in_an_object():
    def change(step):
        CONFIG.model.options.gain = gain_at(step)

    torch.manual_seed(3)
    return train(Configured(WIDTH, 1), before=change)


@case
def settings_of_a_class():
    def change(step):
        Config.gain = gain_at(step)

    torch.manual_seed(3)
    return train(Configured(WIDTH, 1), before=change)


@case
def table_of_the_model_s_class():
    torch.manual_seed(3)
    return train(Tabled(WIDTH, 1), before=lambda step: Tabled.table.update(gain=gain_at(step)))


# Forward becomes a function of the whole batch.


class Mode(enum.Enum):
    EACH, ALL = 1, 2


class Centred(nn.Linear):
    mode = Mode.EACH
    centres = False

    def forward(self, inputs):
        outputs = super().forward(inputs)
        return outputs - outputs.mean(0) if self.centres or self.mode is Mode.ALL else outputs


def centred():
    torch.manual_seed(3)
    model = Centred(WIDTH, 1)
    model.mode, model.centres = Mode.EACH, False
    return model


@case
def attribute_that_couples_samples():
    model = centred()
    return train(model, before=lambda step: setattr(model, "centres", step >= CHANGES_AT))


@case
def choice_that_couples_samples():
    model = centred()
    return train(model, before=lambda step: setattr(
        model, "mode", Mode.ALL if step >= CHANGES_AT else Mode.EACH))


@case
def function_that_couples_samples():
    model = through(torch.tanh)
    inner = model.forward

    def change(step):
        if step == CHANGES_AT:
            model.forward = lambda inputs: inner(inputs) - inner(inputs).mean(0)

    return train(model, before=change)


@case
def batches_that_couple_samples():
    class BatchesThatCoupleSamples(nn.Linear):
        def forward(self, inputs):
            outputs = super().forward(inputs)
            return outputs - outputs.mean(0) if inputs.max() > 2.5 else outputs

    torch.manual_seed(3)
    return train(BatchesThatCoupleSamples(WIDTH, 1))


# What forward changes elsewhere.

SEEN = {"samples": 0, "sizes": [0, 0]}


@case
def count_of_samples():
    class CountOfSamples(nn.Linear):
        def forward(self, inputs):
            SEEN["samples"] += len(inputs)
            SEEN["sizes"][0] = max(SEEN["sizes"][0], len(inputs))
            return super().forward(inputs)

    torch.manual_seed(3)
    return {**train(CountOfSamples(WIDTH, 1)), "seen": (SEEN["samples"], SEEN["sizes"][0])}


@case
def single_samples_first():
    """Calls with one sample say nothing about those with many."""
    class SingleSamplesFirst(nn.Linear):
        pass

    torch.manual_seed(3)
    model = SingleSamplesFirst(WIDTH, 1)
    for _ in range(4):
        model(torch.ones(1, WIDTH))
    return train(model)


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    torch.save({name: CASES[name]() for name in sys.argv[2:] or CASES}, sys.argv[1])
