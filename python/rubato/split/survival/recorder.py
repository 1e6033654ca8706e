"""Writes down what a script does, or takes it through what was written down.

Recorded are reads of tensors (reads.py), calls of root modules with the shapes of what they
returned, and how often loaders were started. In replay root modules return zeros of those shapes,
gradients are zeros, the stock optimizers do nothing, and everything else is run for real: loaders,
samplers, schedulers, optimizers of the script's own, files, arithmetic of the script.
"""

import functools
import io
import itertools
import pickle
import threading
import weakref
from typing import Any, Callable, Dict, List, Tuple

import torch
from torch.utils._pytree import tree_flatten
from torch.utils.data import DataLoader, dataloader

from rubato.split.part import GRAD
from rubato.split.roots import Root
from rubato.split.survival import clocks, reads
from rubato.split.survival.object_graph import all_tensors
from rubato.split.survival.reads import ReadLog, ReplayDiffers

CALL_KINDS_MAX = 100_000  # Kinds of calls of root modules; beyond, nothing can be replayed.
GENERATORS_MAX = 4096  # States of torch's generator, of 5 KB each.
PLACE_BITS = 32  # For batches of an iteration.
RANDOM_LOOKS = 8  # First calls at which we look whether a root module draws random numbers,
RANDOM_LOOK_CALLS = 16  # and how many calls later again.
OFF, RECORD, REPLAY = "off", "record", "replay"


class CallLog:
    """What root modules were called with, and what they returned."""

    def __init__(self) -> None:
        self.kinds: List[Any] = []
        self.numbers: Dict[Any, int] = {}
        self.calls: List[List[int]] = []  # Number of a kind, and how often it came in a row.
        self.count = 0
        self.at = 0
        self.in_run = 0
        self.called_again = 0

    def add(self, kind: Any) -> None:
        number = self.numbers.get(kind)
        if number is None:
            number = self.numbers[kind] = len(self.kinds)
            self.kinds.append(kind)
        if self.calls and self.calls[-1][0] == number:
            self.calls[-1][1] += 1
        else:
            self.calls.append([number, 1])
        self.count += 1
        self.called_again = self.count

    def next(self) -> Any:
        if self.called_again >= self.count:
            raise ReplayDiffers("calls its model where it did not before")
        while self.in_run >= self.calls[self.at][1]:
            self.at += 1
            self.in_run = 0
        self.in_run += 1
        self.called_again += 1
        return self.kinds[self.calls[self.at][0]]

    @property
    def is_at_end(self) -> bool:
        return self.called_again == self.count

    def __getstate__(self) -> Any:
        return {"kinds": self.kinds, "calls": self.calls, "count": self.count}

    def __setstate__(self, state: Any) -> None:
        self.__init__()  # type: ignore[misc]
        self.__dict__.update(state)
        self.numbers = {kind: number for number, kind in enumerate(self.kinds)}


class History:
    """All that is written down. A part of every snapshot."""

    def __init__(self) -> None:
        self.reads = ReadLog()
        self.calls = CallLog()
        self.iterations = 0  # Of loaders that were begun.
        self.batches = 0
        self.draws_random = False  # A root module does.
        self.generators: Dict[int, bytes] = {}  # torch's, by the iteration of a loader.
        self.index_generators: Dict[int, bytes] = {}  # Where a sampler drew, by its place.
        self.reason = ""  # Why it cannot be replayed.

    @property
    def why_not(self) -> str:
        if self.reads.is_full:
            return "the script has read too many values of tensors"
        if len(self.calls.kinds) > CALL_KINDS_MAX:
            return "the script calls its models in too many ways"
        if len(self.index_generators) + len(self.generators) > GENERATORS_MAX:
            return "a sampler draws random numbers too often"
        return self.reason


class Recorder:
    """Of a leader."""

    def __init__(self, controller: Any) -> None:
        self.controller = controller
        self.mode = OFF
        self.history = History()
        self.replayed = History()  # Counts of what was replayed.
        self.depth = 0  # Above 0: inside a root module, a stock optimizer or a loader.
        self.is_sampling = False  # Then single values are noted, but not whole lists.
        self.roots: List["weakref.ref[Any]"] = []  # In the order of their first calls.
        self.root_numbers: Dict[int, int] = {}
        self.loaders: List["weakref.ref[Any]"] = []
        self.first_places = itertools.count()  # Of worker processes' first batches.
        self.on_first_call: List[Callable[[Any], None]] = []  # They get the module.
        self.on_difference: Callable[[ReplayDiffers], None] = lambda error: None
        self.thread = threading.get_ident()
        self.zeros: Dict[int, Tuple[Any, torch.Tensor]] = {}
        self.engine: Any = None
        self.warned: Any = None  # See warned.py.
        self.tensors_before = all_tensors()  # Of libraries.

    # When.

    def is_watching(self) -> bool:
        return (self.mode != OFF and self.depth == 0 and not self.controller.depth
                and self.controller.is_leader and not torch.jit.is_tracing()
                and threading.get_ident() == self.thread)

    def outside(self, function: Callable[[], Any], depth: int = 1) -> Any:
        """Runs code that is not the script's own; or, with depth 0, that is."""
        before, self.depth = self.depth, depth
        try:
            return function()
        finally:
            self.depth = before

    # Reads.

    def read(self, kind: Tuple[Any, ...], function: Callable[[], Any], is_scalar: bool) -> Any:
        if self.is_sampling and not is_scalar:
            return self.outside(function)
        if self.mode == REPLAY:
            return self.attempt(lambda: self.history.reads.next(kind))
        value = self.outside(function)
        self.history.reads.add(kind, value)
        return value

    def attempt(self, function: Callable[[], Any]) -> Any:
        try:
            return self.outside(function)
        except ReplayDiffers as error:
            self.on_difference(error)
            raise

    # Calls of root modules.

    def call_root(self, call: Callable[[], Any], module: Any, args: Any, kwargs: Any) -> Any:
        if not self.is_watching():
            return call()
        if self.history.calls.count == 0:
            for function in self.on_first_call:
                self.outside(lambda: function(module))
        kind = (self.number_of(module), torch.is_grad_enabled(), signature(args, kwargs))
        if self.mode == REPLAY:
            return self.attempt(lambda: self.made_again(kind))
        looks = (self.history.calls.count < RANDOM_LOOKS
                 or self.history.calls.count % RANDOM_LOOK_CALLS == 0)
        looks = looks and not self.history.draws_random
        before = torch.get_rng_state() if looks else None
        try:
            result = self.outside(call)
        except Exception:
            self.history.reason = "a call of a model failed, and the script went on"
            raise
        if before is not None and not self.outside(lambda: before.equal(torch.get_rng_state())):
            self.history.draws_random = True
        self.outside(lambda: self.note_call(kind, result))
        return result

    def note_call(self, kind: Any, result: Any) -> None:
        try:
            self.history.calls.add((*kind, template_of(result)))
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            self.history.reason = f"a model returns what cannot be written down ({error})"

    def number_of(self, module: Any) -> int:
        number = self.root_numbers.get(id(module))
        if number is None or self.roots[number]() is not module:
            number = self.root_numbers[id(module)] = len(self.roots)
            self.roots.append(weakref.ref(module))
        return number

    def made_again(self, kind: Any) -> Any:
        *known, template = self.history.calls.next()
        if tuple(known) != kind:
            raise ReplayDiffers(f"calls a model with {kind[1:]} where it called one with "
                                f"{tuple(known[1:])}")
        return made_from(template, self.on_use_after)

    def on_use_after(self, gradient: torch.Tensor) -> None:
        """A backward after the replay has come to what a root module returned in it."""
        if self.mode != REPLAY:
            self.on_difference(ReplayDiffers("computes gradients of an earlier step"))

    # Gradients and optimizers in replay.

    def zero_gradients(self) -> None:
        modules = [reference() for reference in self.roots]
        parameters = [p for module in modules if module is not None for p in module.parameters()]
        for optimizer in list(self.controller.steps.numbers):
            parameters += [p for group in optimizer.param_groups for p in group["params"]]
        for parameter in parameters:
            if parameter.requires_grad and parameter.is_leaf and GRAD.__get__(parameter) is None:
                GRAD.__set__(parameter, self.zero_of(parameter))

    def zero_of(self, parameter: torch.Tensor) -> torch.Tensor:
        known = self.zeros.get(id(parameter))
        if known is None or known[0]() is not parameter or known[1].shape != parameter.shape:
            known = (weakref.ref(parameter), torch.zeros_like(parameter))
            self.zeros[id(parameter)] = known
        return known[1]

    def step(self, original: Callable[..., Any], optimizer: Any, closure: Any,
             kwargs: Any) -> Any:
        if not self.is_watching():
            return original(optimizer, closure, **kwargs)
        if self.mode == RECORD:
            script = None if closure is None else lambda: self.outside(closure, 0)
            return self.outside(lambda: original(optimizer, script, **kwargs))
        if closure is None:
            return None
        with torch.enable_grad():
            loss = closure()
        if self.mode == RECORD:  # The replay has come to its end inside of it: this step counts.
            return self.outside(lambda: original(optimizer, lambda: loss, **kwargs))
        return loss

    # Loaders.

    def begin_loader(self, begin: Callable[[], Any]) -> Any:
        if not self.is_watching():
            return begin()
        history = self.history if self.mode == RECORD else self.replayed
        if self.mode == REPLAY:
            state = self.history.generators.get(history.iterations)
            if state is not None:
                set_generator(state)
        elif history.draws_random:
            state = self.outside(lambda: torch.get_rng_state().numpy().tobytes())
            history.generators[history.iterations] = state
        history.iterations += 1
        before, self.is_sampling = self.is_sampling, True
        try:
            iterator = begin()
        finally:
            self.is_sampling = before
        iterator._rubato_places = itertools.count(history.iterations << PLACE_BITS)
        self.loaders = [known for known in self.loaders if known() is not None]
        self.loaders.append(weakref.ref(iterator))
        return iterator

    def next_batch(self, function: Callable[[], Any]) -> Any:
        if not self.is_watching():
            return function()
        (self.history if self.mode == RECORD else self.replayed).batches += 1
        return self.outside(function)

    def next_index(self, function: Callable[[], Any], iterator: Any) -> Any:
        """A sampler may draw the seed of its own generator, or all it needs; in replay torch's
        generator is not where it was if root modules draw from it."""
        if self.mode == OFF or not self.controller.is_leader:
            return function()
        # Batches may be asked for ahead, so only their places within an iteration are certain.
        place = next(vars(iterator).get("_rubato_places", self.first_places))
        state = None
        if self.mode == REPLAY and place in self.history.index_generators:
            set_generator(self.history.index_generators[place])
        elif self.mode == RECORD and self.history.draws_random:
            state = torch.get_rng_state()
        before, self.is_sampling = self.is_sampling, True
        try:
            return self.outside(function, 0)
        finally:
            self.is_sampling = before
            if state is not None and not self.outside(
                    lambda: state.equal(torch.get_rng_state())):
                self.history.index_generators[place] = state.numpy().tobytes()


def set_generator(state: bytes) -> None:
    torch.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))


def signature(args: Any, kwargs: Any) -> Any:
    """Shapes and types of the tensors among the arguments."""
    plain = args if not kwargs and all(isinstance(a, torch.Tensor) for a in args) else None
    leaves = plain if plain is not None else tree_flatten((args, kwargs))[0]
    return tuple((tuple(leaf.shape), str(leaf.dtype)) for leaf in leaves
                 if isinstance(leaf, torch.Tensor))


def described(tensor: torch.Tensor) -> Tuple[Any, ...]:
    return (tuple(tensor.shape), tensor.dtype, tensor.requires_grad)


class TemplatePickler(pickle.Pickler):
    """Pickles anything that has tensors in it without their values."""

    def persistent_id(self, value: Any) -> Any:
        return described(value) if isinstance(value, torch.Tensor) else None


def template_of(result: Any) -> Any:
    if isinstance(result, torch.Tensor):
        return described(result)
    file = io.BytesIO()
    TemplatePickler(file, pickle.HIGHEST_PROTOCOL).dump(result)
    return file.getvalue()


def made_from(template: Any, hook: Callable[[torch.Tensor], None]) -> Any:
    """Zeros in the shape of what a root module returned."""

    def zeros(described_as: Tuple[Any, ...]) -> torch.Tensor:
        shape, dtype, requires_grad = described_as
        tensor = torch.zeros(shape, dtype=dtype)
        if requires_grad:
            # Not a leaf: scripts may change it in place.
            tensor.requires_grad_(True).register_hook(hook)
            tensor = tensor.clone()
        return tensor

    if isinstance(template, tuple):
        return zeros(template)
    class Unpickler(pickle.Unpickler):
        def persistent_load(self, pid: Any) -> Any:
            return zeros(pid)

    return Unpickler(io.BytesIO(template)).load()


class ZeroEngine:
    """In place of autograd's engine while a script is replayed."""

    def __init__(self, recorder: Recorder, original: Any) -> None:
        self.recorder = recorder
        self.original = original

    def run_backward(self, tensors: Any, gradients: Any, keeps: bool, creates: bool, inputs: Any,
                     allow_unreachable: bool = True, accumulate_grad: bool = True) -> Any:
        if accumulate_grad:
            self.recorder.zero_gradients()
            return None
        return tuple(torch.zeros_like(tensor, requires_grad=creates) for tensor in inputs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


def install(recorder: Recorder) -> None:
    """Patches torch once; the recorder's mode decides what the patches do."""
    reads.install(recorder.is_watching, lambda: recorder.is_sampling, recorder.read)
    clocks.install(recorder)
    patch_roots(recorder)
    patch_optimizers(recorder)
    patch_loaders(recorder)


def patch_roots(recorder: Recorder) -> None:
    original = Root.call

    @functools.wraps(original)
    def call(self: Any, module: Any, args: Any, kwargs: Any) -> Any:
        return recorder.call_root(
            lambda: original(self, module, args, kwargs), module, args, kwargs)

    Root.call = call  # type: ignore[method-assign]


def patch_optimizers(recorder: Recorder) -> None:
    """LBFGS looks at values to know what to do next, so it is run, as are the script's own."""

    def patch(kind: Any) -> None:
        original = kind.step

        @functools.wraps(original)
        def step(self: Any, closure: Any = None, **kwargs: Any) -> Any:
            return recorder.step(original, self, closure, kwargs)

        kind.step = step

    for kind in vars(torch.optim).values():
        is_optimizer = isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)
        if is_optimizer and kind not in (torch.optim.Optimizer, torch.optim.LBFGS):
            if "step" in vars(kind):
                patch(kind)


def patch_loaders(recorder: Recorder) -> None:
    iterators = dataloader._BaseDataLoaderIter

    def patch(owner: Any, name: str, run: Callable[..., Any]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def replacement(self: Any, *args: Any) -> Any:
            return run(lambda: original(self, *args), self)

        setattr(owner, name, replacement)

    patch(DataLoader, "__iter__", lambda begin, loader: recorder.begin_loader(begin))
    patch(iterators, "__next__", lambda function, iterator: recorder.next_batch(function))
    patch(iterators, "_next_index", recorder.next_index)


def use_engine(recorder: Recorder, is_replay: bool) -> None:
    variable: Any = torch.autograd.Variable
    if is_replay:
        recorder.engine = variable._execution_engine
        variable._execution_engine = ZeroEngine(recorder, recorder.engine)
    elif recorder.engine is not None:
        variable._execution_engine, recorder.engine = recorder.engine, None
