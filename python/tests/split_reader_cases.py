"""Cases of what forward reads outside of its module, and a script may change anywhere."""

import collections
import functools
import os
import types

import numpy
import torch
from split_training import CASES, Body, result, train
from torch import nn


class Settings:
    """As many scripts have them: a class that is never made an object of."""

    factor = 1.0

    class Inner:
        factor = 1.0


class Slotted:
    __slots__ = ("factor",)


class Schedule:
    """An object that is called."""

    def __init__(self):
        self.factor = 1.0

    def __call__(self):
        return self.factor


class Holder:
    """An object that holds another one, or a number."""

    def __init__(self, held):
        self.held = held


def make_pair():
    factor = 1.0

    def read():
        return factor

    def write(value):
        nonlocal factor
        factor = value

    return read, write


def with_default(factor=1.0):
    return factor


def unit():
    return 1.0


MODULE = types.ModuleType("settings_of_the_script")
MODULE.factor = 1.0
SLOTTED = Slotted()
SLOTTED.factor = 1.0
SCHEDULE = Schedule()
DEEP = Holder(Holder(Holder(Holder(1.0))))
NESTED = {"a": {"b": {"c": {"d": 1.0}}}}
LONG = {number: 1.0 for number in range(200)}
ARRAY = numpy.ones(10000)
TENSOR = torch.ones((), dtype=torch.float64)
RECENT = collections.deque([1.0], maxlen=3)
READ, WRITE = make_pair()
CALLED = unit
OTHER = nn.Linear(2, 2, dtype=torch.float64).requires_grad_(False)
OTHER.weight.fill_(1.0)
OTHER.factor = 1.0


class Reads(Body):
    def forward(self, inputs):
        return self.layers(inputs) * self.read()


class ClassAttribute(Reads):
    factor = 1.0

    def read(self):
        return self.factor

    @classmethod
    def change(cls, value):
        cls.factor = value


class MethodOfAClass(Reads):
    def read(self):
        return 1.0

    @classmethod
    def change(cls, value):
        cls.read = lambda self: value


class ClassOfSettings(Reads):
    def read(self):
        return Settings.factor * Settings.Inner.factor

    def change(self, value):
        Settings.factor, Settings.Inner.factor = value, value


class ModuleOfSettings(Reads):
    def read(self):
        return MODULE.factor

    def change(self, value):
        MODULE.factor = value


class ObjectWithSlots(Reads):
    def read(self):
        return SLOTTED.factor

    def change(self, value):
        SLOTTED.factor = value


class ObjectThatIsCalled(Reads):
    def read(self):
        return SCHEDULE()

    def change(self, value):
        SCHEDULE.factor = value


class DeepObject(Reads):
    def read(self):
        return DEEP.held.held.held.held

    def change(self, value):
        DEEP.held.held.held.held = value


class DeepDictionary(Reads):
    def read(self):
        return NESTED["a"]["b"]["c"]["d"]

    def change(self, value):
        NESTED["a"]["b"]["c"]["d"] = value


class LongDictionary(Reads):
    def read(self):
        return LONG[150]

    def change(self, value):
        LONG[150] = value


class LongArray(Reads):
    def read(self):
        return float(ARRAY[5])

    def change(self, value):
        ARRAY[5] = value


class GlobalTensor(Reads):
    def read(self):
        return TENSOR

    def change(self, value):
        TENSOR.data.fill_(value)


class DoubleEndedQueue(Reads):
    def read(self):
        return RECENT[-1]

    def change(self, value):
        RECENT.append(value)


class CellOfAFunction(Reads):
    def read(self):
        return READ()

    def change(self, value):
        WRITE(value)


class DefaultOfAFunction(Reads):
    def read(self):
        return with_default()

    def change(self, value):
        with_default.__defaults__ = (value,)


class GlobalFunction(Reads):
    def read(self):
        return CALLED()

    def change(self, value):
        global CALLED
        CALLED = functools.partial(float, value)


class OtherModule(Reads):
    def read(self):
        return OTHER.weight.mean() * OTHER.factor

    def change(self, value):
        OTHER.weight.data.fill_(value)
        OTHER.factor = value


class VariableOfTheEnvironment(Reads):
    def read(self):
        return float(os.environ.get("FACTOR", "1"))

    def change(self, value):
        os.environ["FACTOR"] = str(value)


READERS = [
    ClassAttribute, MethodOfAClass, ClassOfSettings, ModuleOfSettings, ObjectWithSlots,
    ObjectThatIsCalled, DeepObject, DeepDictionary, LongDictionary, LongArray, GlobalTensor,
    DoubleEndedQueue, CellOfAFunction, DefaultOfAFunction, GlobalFunction, OtherModule,
    VariableOfTheEnvironment,
]


def read_elsewhere(kind):
    """A value that changes now and then, so that replicas made anew each time would be worth it."""
    model = kind()

    def change(step):
        if step % 8 == 4:
            model.change(1.0 + 0.02 * (step % 6))

    return result(model, train(model, before=change))


for reader in READERS:
    CASES[reader.__name__] = functools.partial(read_elsewhere, reader)
READER_NAMES = [reader.__name__ for reader in READERS]
