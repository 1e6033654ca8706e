"""What a run remembers of each step of the script: losses, parameters, the optimizers' state."""

import functools
import marshal
import os
import random
import resource
import sys
import threading
import time
import weakref
from typing import Any, Callable, Dict, List

import torch
from torch import nn

from rubato.check.double_precision import in_double, is_double
from rubato.check.loops import LoopWatch
from rubato.check.noise import GradientNoise
from rubato.check.sketch import is_sketchable, sketch
from rubato.split.rehearsal import Constants

TENSORS_MAX = 3000  # Of one step.
RANDOM_CALLS = 6  # Of root modules that are watched for random numbers.


class Recorder:
    """Of the one process that runs the script. Forks of it record in vain."""

    def __init__(self, settings: Dict[str, Any], results: str) -> None:
        self.settings = settings
        self.results = results
        self.began = time.monotonic()
        self.depth = 0
        self.is_in_root = False
        self.backward_depth = 0
        self.thread = threading.get_ident()
        self.losses: List[float] = []
        self.steps: List[Dict[str, List[float]]] = []
        self.first: Dict[str, List[float]] = {}  # Before the first step.
        self.times: List[float] = []  # When each step ended.
        self.calls_at: List[int] = []  # Calls of root modules until then.
        self.roots: List[Any] = []  # Weak references, in the order of their first calls.
        self.known: Dict[int, Any] = {}  # The same, by number of object.
        self.optimizers: Any = weakref.WeakKeyDictionary()  # Their numbers.
        self.optimizers_made = 0
        self.calls = 0
        self.is_random = False
        self.loops = LoopWatch()
        self.noise = GradientNoise() if settings.get("noise") else None
        self.more: Callable[[], Dict[str, Any]] = dict  # What else is to be written.
        self.after_step: List[Callable[[int], None]] = []

    # What is replaced in torch: before the split is installed, so that parts pass through it too.

    def install(self) -> None:
        self.watch_calls()
        self.watch_backward()
        if self.settings.get("loops"):
            self.loops.install()

    def watch_calls(self) -> None:
        original = nn.Module.__call__
        recorder = self
        holds_constant = bool(self.settings.get("constant"))

        @functools.wraps(original)
        def call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            # What we compute would become a part of a trace.
            is_others = threading.get_ident() != recorder.thread or torch.jit.is_tracing()
            if recorder.depth or is_others:
                return original(module, *args, **kwargs)
            recorder.depth += 1
            try:
                recorder.on_root(module)
                if holds_constant:
                    with Constants():
                        return original(module, *args, **kwargs)
                if recorder.calls > RANDOM_CALLS or recorder.is_random:
                    return original(module, *args, **kwargs)
                before = torch.get_rng_state()
                result = original(module, *args, **kwargs)
                recorder.is_random = not torch.equal(before, torch.get_rng_state())
                return result
            finally:
                recorder.depth -= 1

        nn.Module.__call__ = call

    def watch_users_calls(self) -> None:
        """Around all that happens in a root call, once the split is installed: shared calls draw
        other numbers than whole ones, and what the script draws next must not depend on it. In
        double precision, data that the script made in single precision is converted."""
        keeps, converts = bool(self.settings.get("constant")), bool(self.settings.get("double"))
        if not keeps and not converts:
            return
        original = nn.Module.__call__
        recorder = self

        @functools.wraps(original)
        def call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            is_users = (recorder.depth == 0 and not recorder.is_in_root
                        and threading.get_ident() == recorder.thread)
            if not is_users:
                return original(module, *args, **kwargs)
            if converts:
                args, kwargs = in_double(args), in_double(kwargs)
            state = torch.get_rng_state() if keeps else None
            recorder.is_in_root = True
            try:
                return original(module, *args, **kwargs)
            finally:
                recorder.is_in_root = False
                if state is not None:
                    torch.set_rng_state(state)

        nn.Module.__call__ = call

    def on_root(self, module: nn.Module) -> None:
        known = self.known.get(id(module))  # Perhaps of one that is gone: numbers are used again.
        if known is not None and known() is not module:
            known = None
        if known is None and any(True for _ in module.parameters()):
            known = self.known[id(module)] = weakref.ref(module)
            self.roots.append(known)
            if not self.steps:
                self.first.update(self.values())
        if known is not None:
            self.calls += 1

    def watch_backward(self) -> None:
        original = torch.autograd.backward
        recorder = self

        @functools.wraps(original)
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> None:
            is_users = recorder.backward_depth == 0 and recorder.depth == 0
            recorder.backward_depth += 1
            try:
                if is_users:
                    recorder.on_loss(tensors)
                    recorder.loops.on_backward(sys._getframe(1))
                original(tensors, *args, **kwargs)
                if is_users and recorder.noise is not None:
                    recorder.noise.add_to(recorder.parameters())
            finally:
                recorder.backward_depth -= 1

        torch.autograd.backward = backward

    def on_loss(self, tensors: Any) -> None:
        if isinstance(tensors, torch.Tensor) and tensors.numel() == 1:
            self.losses.append(float(tensors.detach()))

    # Steps.

    def parameters(self) -> List[torch.Tensor]:
        found = {}
        for reference in self.roots:
            module = reference()
            for parameter in module.parameters() if module is not None else ():
                found[id(parameter)] = parameter
        return list(found.values())

    def values(self) -> Dict[str, List[float]]:
        """Sketches of all that the script trains, by name."""
        found: Dict[str, List[float]] = {}
        seen = set()
        for number, reference in enumerate(self.roots):
            module = reference()
            if module is None:
                continue
            name = f"{type(module).__name__} {number}"
            for kind in (module.named_parameters(), module.named_buffers()):
                for key, tensor in kind:
                    if id(tensor) not in seen and is_sketchable(tensor):
                        seen.add(id(tensor))
                        found[f"{name}: {key}"] = sketch(tensor)
                    if len(found) >= TENSORS_MAX:
                        return found
        for optimizer, number in list(self.optimizers.items()):
            self.add_state(optimizer, number, seen, found)
        return found

    def add_state(self, optimizer: Any, number: int, seen: set,
                  found: Dict[str, List[float]]) -> None:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        for at, parameter in enumerate(parameters):
            if id(parameter) not in seen and is_sketchable(parameter):
                found[f"parameters of optimizer {number}: {at}"] = sketch(parameter)
            state = optimizer.state.get(parameter, {})
            for key in sorted(state, key=str) if isinstance(state, dict) else ():
                if len(found) < TENSORS_MAX and is_sketchable(state[key]):
                    found[f"optimizer {number}: {key} of parameter {at}"] = sketch(state[key])

    def on_step(self, count: int) -> None:
        """At the end of an optimizer's step that opens a round; see rubato.split.steps."""
        self.times.append(time.monotonic() - self.began)
        self.calls_at.append(self.calls)
        self.loops.on_step(sys._getframe(1))
        if self.settings.get("keeps", True):
            self.steps.append(self.values())
        for listener in self.after_step:
            listener(count)
        is_late = time.monotonic() > self.settings["until"]
        if count >= self.settings["steps"] or is_late:
            self.leave("late" if count < self.settings["steps"] else "steps", 0)

    def leave(self, why: str, code: int, error: str = "") -> None:
        """Ends the process here: nothing of the script that follows is run."""
        self.write(why, code, error)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass
        os._exit(code)

    def write(self, why: str, code: int, error: str) -> None:
        record = {
            "end": why, "code": code, "error": error, "losses": self.losses,
            "first": self.first, "steps": self.steps, "times": self.times,
            "calls": self.calls_at, "is_random": self.is_random,
            "random": self.random_states(), "loops": self.loops.summary(),
            "is_double": is_double(self.parameters()),
            "uses_trainer": "rubato.trainer" in sys.modules,
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            **self.more(),
        }
        path = os.path.join(self.results, "record")
        with open(path + ".part", "wb") as file:
            marshal.dump(record, file)
        os.replace(path + ".part", path)

    def random_states(self) -> Dict[str, int]:
        """What differs here differs in what comes after."""
        states = {"torch": hash(torch.get_rng_state().numpy().tobytes()),
                  "python": hash(repr(random.getstate()))}
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            kind, keys, *rest = numpy.random.get_state()
            states["numpy"] = hash(keys.tobytes() + repr(rest).encode())
        return states


def watch_optimizers(recorder: Recorder) -> None:
    """All optimizers that are made, in their order."""
    original = torch.optim.Optimizer.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        recorder.optimizers_made += 1
        recorder.optimizers[self] = recorder.optimizers_made

    torch.optim.Optimizer.__init__ = init
