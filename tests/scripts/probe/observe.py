"""What the harness wants to know of a script, without a change to the script.

CORPUS_PROBE=FILE      at the end, tensors and counts of the process are written to this file
CORPUS_DOUBLE=1        floating-point numbers are made in double precision
CORPUS_COUNT=1         steps and calls of root modules are counted: only where nobody else patches
CORPUS_REVERSE=loader  samples of each batch come in reversed order; `inputs`: of each root call
CORPUS_PARTS=N          each root call with one tensor is made as N, of an N-th of the rows each
CORPUS_RESEED=N        torch's generator is seeded anew at the first step
CORPUS_KILL_GROUP=N,M  under Rubato: in the backward after so many steps the process kills its
                       whole group, once for each number
"""

import atexit
import functools
import hashlib
import importlib.abc
import importlib.util
import multiprocessing
import os
import random
import signal
import sys
import types
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional

OPTIMIZERS_MAX = 4  # That are kept alive: more would hide errors with objects that are gone.
DEPTH_MAX = 3  # Of containers and objects that are searched for tensors.


class Observer:
    """Of this process."""

    def __init__(self) -> None:
        self.optimizers: Deque[Any] = deque(maxlen=OPTIMIZERS_MAX)
        self.script_names: Optional[Dict[str, Any]] = None
        self.seeded: set = set()
        self.samples = hashlib.sha256()
        self.batches = 0
        self.steps = 0
        self.root_calls = 0
        self.depth = 0
        self.is_watching_loaders = False
        self.watched_iterators: set = set()

    # Installation.

    def on_torch(self) -> None:
        """As soon as torch has been imported."""
        import torch

        if os.environ.get("CORPUS_DOUBLE"):
            torch.set_default_dtype(torch.float64)
        self.watch_seeds(torch)
        self.keep_optimizers(torch)
        self.watch_loaders(torch)
        if os.environ.get("CORPUS_COUNT"):
            Counting(self).install()
        if os.environ.get("CORPUS_KILL_GROUP"):
            kill_group(torch, [int(word) for word in os.environ["CORPUS_KILL_GROUP"].split(",")])
        reverse = os.environ.get("CORPUS_REVERSE")
        if reverse == "loader":
            reverse_loaders()
        elif reverse == "inputs":
            reverse_inputs()
        if os.environ.get("CORPUS_PARTS"):
            call_in_parts(int(os.environ["CORPUS_PARTS"]))
        atexit.register(self.write)

    def watch_seeds(self, torch: Any) -> None:
        """Which generators the script seeds; and what global names it has, which are gone at exit
        if it was run by `runpy`."""
        self.watch_seed(torch, "manual_seed", "torch")
        self.watch_seed(random, "seed", "python")
        if "numpy" in sys.modules:
            self.watch_seed(sys.modules["numpy"].random, "seed", "numpy")

    def watch_seed(self, owner: Any, function: str, name: str) -> None:
        original = getattr(owner, function)

        @functools.wraps(original)
        def seed(*args: Any, **kwargs: Any) -> Any:
            if sys._getframe(1).f_globals.get("__name__") == "__main__":
                self.seeded.add(name)
                self.script_names = sys._getframe(1).f_globals  # A warm interpreter is first.
            return original(*args, **kwargs)

        setattr(owner, function, seed)

    def keep_optimizers(self, torch: Any) -> None:
        """Most models are local variables of a function that has ended at exit."""
        original = torch.optim.Optimizer.__init__

        @functools.wraps(original)
        def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self.optimizers.append(optimizer)

        torch.optim.Optimizer.__init__ = init

    # Samples.

    def watch_loaders(self, torch: Any) -> None:
        """Batches are seen as the script sees them, so the outermost `__next__` is wrapped, when
        everybody else has installed what they want: at the first loader that is made."""
        loader = torch.utils.data.DataLoader
        original_init = loader.__init__

        @functools.wraps(original_init)
        def init(this: Any, *args: Any, **kwargs: Any) -> None:
            if not self.is_watching_loaders:
                self.is_watching_loaders = True
                self.watch_iteration(loader)
            original_init(this, *args, **kwargs)

        loader.__init__ = init

    def watch_iteration(self, loader: Any) -> None:
        original_iter = loader.__iter__

        @functools.wraps(original_iter)
        def iterate(this: Any) -> Any:
            iterator = original_iter(this)
            self.watch_iterator(type(iterator))
            return iterator

        loader.__iter__ = iterate

    def watch_iterator(self, kind: type) -> None:
        owner = next((base for base in kind.__mro__ if "__next__" in vars(base)), None)
        if owner is None or owner in self.watched_iterators or issubclass(
                owner, types.GeneratorType):
            return
        self.watched_iterators.add(owner)
        original = owner.__next__

        @functools.wraps(original)
        def following(iterator: Any) -> Any:
            self.depth += 1
            try:
                batch = original(iterator)
            finally:
                self.depth -= 1
            if self.depth == 0:
                self.batches += 1
                self.add_sample(batch)
            return batch

        owner.__next__ = following

    def add_sample(self, value: Any) -> None:
        import torch

        if isinstance(value, torch.Tensor):
            self.samples.update(str(tuple(value.shape)).encode())
            self.samples.update(value.detach().contiguous().numpy().tobytes())
        elif isinstance(value, dict):
            for key in sorted(value, key=str):
                self.add_sample(key)
                self.add_sample(value[key])
        elif isinstance(value, (list, tuple)):
            for item in value:
                self.add_sample(item)
        elif type(value).__repr__ is object.__repr__:  # It would tell the address.
            self.add_sample(vars(value))
        else:
            self.samples.update(repr(value).encode())

    # What is written at the end.

    def write(self) -> None:
        if multiprocessing.parent_process() is not None:
            return  # A worker of a loader.
        if self.script_names is None and not (self.optimizers or self.batches or self.steps):
            return  # An interpreter that was kept warm and never ran a script.
        import torch

        path = os.environ["CORPUS_PROBE"]
        found = {
            "tensors": self.tensors(),
            "samples": self.samples.hexdigest() if self.batches else "",
            "batches": self.batches,
            "steps": self.steps,
            "root_calls": self.root_calls,
            "random": self.random_states(),
        }
        torch.save(found, path + ".part")
        os.replace(path + ".part", path)

    def random_states(self) -> Dict[str, str]:
        import torch

        states = {"torch": torch.get_rng_state().numpy().tobytes(),
                  "python": repr(random.getstate()).encode()}
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            kind, keys, *rest = numpy.random.get_state()
            states["numpy"] = keys.tobytes() + repr(rest).encode()
        return {name: hashlib.sha256(state).hexdigest() for name, state in states.items()
                if name in self.seeded}

    def tensors(self) -> Dict[str, Any]:
        found: Dict[str, Any] = {}
        names = self.script_names
        if names is None:
            names = vars(sys.modules["__main__"])
        for name, value in sorted(names.items()):
            if not name.startswith("__"):
                collect(value, name, found, DEPTH_MAX, set())
        for number, optimizer in enumerate(self.optimizers):
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            for at, parameter in enumerate(parameters):
                add(found, f"optimizer {number} parameter {at}", parameter)
                state = optimizer.state.get(parameter, {})
                for key, value in sorted(state.items(), key=lambda item: str(item[0])):
                    add(found, f"optimizer {number} state {at} {key}", value)
        return found


def add(found: Dict[str, Any], name: str, value: Any) -> None:
    import torch

    if isinstance(value, torch.Tensor) and value.layout == torch.strided:
        found[name] = value.detach().clone()


def collect(value: Any, name: str, found: Dict[str, Any], depth: int, seen: set) -> None:
    """Modules, floating-point tensors, and what holds them."""
    import torch

    if id(value) in seen or isinstance(value, (type, types.ModuleType, types.FunctionType)):
        return
    seen.add(id(value))
    if isinstance(value, torch.nn.Module):
        for key, tensor in value.state_dict().items():
            add(found, f"{name}.{key}", tensor)
    elif isinstance(value, torch.Tensor):
        if value.is_floating_point():
            add(found, name, value)
    elif isinstance(value, torch.optim.Optimizer) or depth == 0:
        return
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            collect(value[key], f"{name}[{key}]", found, depth - 1, seen)
    elif isinstance(value, (list, tuple)):
        for at, item in enumerate(value[:100]):
            collect(item, f"{name}[{at}]", found, depth - 1, seen)
    elif isinstance(getattr(value, "__dict__", None), dict):
        for key, item in sorted(vars(value).items()):
            collect(item, f"{name}.{key}", found, depth - 1, seen)


class Counting:
    """Steps and root calls, as Rubato counts them: independently written, to compare with."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self.made: List[Any] = []
        self.stepped: set = set()
        self.made_at_begin = 0
        self.backwards = 0
        self.inside = 0
        self.reseed = os.environ.get("CORPUS_RESEED")

    def install(self) -> None:
        import torch

        self.count_steps(torch)
        self.count_backwards(torch)
        self.count_calls(torch.nn.Module)

    def count_steps(self, torch: Any) -> None:
        counting = self
        original_init = torch.optim.Optimizer.__init__

        @functools.wraps(original_init)
        def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original_init(optimizer, *args, **kwargs)
            counting.made.append(id(optimizer))
            counting.wrap(type(optimizer))

        torch.optim.Optimizer.__init__ = init

    def wrap(self, kind: Any) -> None:
        original = kind.step
        if getattr(original, "is_counted", False):
            return
        counting = self

        @functools.wraps(original)
        def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(optimizer, *args, **kwargs)
            counting.on_step(id(optimizer))
            return result

        step.is_counted = True
        kind.step = step

    def on_step(self, optimizer: int) -> None:
        is_later = optimizer in self.made[self.made_at_begin:]
        if not self.stepped or optimizer in self.stepped or is_later:
            self.observer.steps += 1
            self.stepped = set()
            self.made_at_begin = len(self.made)
        self.stepped.add(optimizer)
        if self.reseed:
            import torch

            torch.random.manual_seed(int(self.reseed))
            self.reseed = None

    def count_backwards(self, torch: Any) -> None:
        original = torch.autograd.backward
        counting = self

        @functools.wraps(original)
        def backward(*args: Any, **kwargs: Any) -> None:
            original(*args, **kwargs)
            if not counting.made:
                counting.observer.steps += 1

        torch.autograd.backward = backward

    def count_calls(self, module: Any) -> None:
        original = module.__call__
        counting = self

        @functools.wraps(original)
        def call(this: Any, *args: Any, **kwargs: Any) -> Any:
            if counting.inside == 0 and next(this.parameters(), None) is not None:
                counting.observer.root_calls += 1
            counting.inside += 1
            try:
                return original(this, *args, **kwargs)
            finally:
                counting.inside -= 1

        module.__call__ = call


def reverse_loaders() -> None:
    """The samples of a batch are read in their order, so that each gets its random numbers, and
    put together in the reversed one."""
    from torch.utils.data._utils import fetch

    def reversed_batches(kind: Any) -> None:
        original = kind.__init__

        @functools.wraps(original)
        def init(fetcher: Any, dataset: Any, auto_collation: bool, collate: Callable[..., Any],
                 drop_last: bool) -> None:
            def collate_reversed(samples: Any) -> Any:
                return collate(samples[::-1] if isinstance(samples, list) else samples)

            original(fetcher, dataset, auto_collation,
                     collate_reversed if auto_collation else collate, drop_last)

        kind.__init__ = init

    reversed_batches(fetch._MapDatasetFetcher)
    reversed_batches(fetch._IterableDatasetFetcher)


def reverse_inputs() -> None:
    """Rows of all arguments of a root call are reversed, and those of its outputs back again."""
    import torch
    from torch.utils._pytree import tree_map

    original = torch.nn.Module.__call__
    inside = [0]

    def flipped(value: Any, size: int) -> Any:
        has_rows = isinstance(value, torch.Tensor) and value.dim() and value.shape[0] == size
        return value.flip(0) if has_rows else value

    @functools.wraps(original)
    def call(module: Any, *args: Any, **kwargs: Any) -> Any:
        first = next((a for a in args if isinstance(a, torch.Tensor) and a.dim()), None)
        if inside[0] or first is None or next(module.parameters(), None) is None:
            return original(module, *args, **kwargs)
        size = first.shape[0]
        args, kwargs = tree_map(lambda leaf: flipped(leaf, size), (args, kwargs))
        inside[0] += 1
        try:
            outputs = original(module, *args, **kwargs)
        finally:
            inside[0] -= 1
        return tree_map(lambda leaf: flipped(leaf, size), outputs)

    torch.nn.Module.__call__ = call


def call_in_parts(count: int) -> None:
    """As users of smaller batches do: gradients are rounded for each part."""
    import torch

    original = torch.nn.Module.__call__
    inside = [0]

    @functools.wraps(original)
    def call(module: Any, *args: Any) -> Any:
        if inside[0] or len(args) != 1 or len(args[0]) < 2 or not torch.is_grad_enabled():
            return original(module, *args)
        outputs = []
        inside[0] += 1
        try:
            for rows in args[0].chunk(count):
                torch.clear_autocast_cache()  # Or the parts would add up before rounding.
                outputs.append(original(module, rows))
        finally:
            inside[0] -= 1
        return torch.cat(outputs)

    torch.nn.Module.__call__ = call


def kill_group(torch: Any, steps: List[int]) -> None:
    """The holder, the leader, its copy and its replicas die together: nobody is left to go on."""
    original = torch.autograd.backward

    @functools.wraps(original)
    def backward(*args: Any, **kwargs: Any) -> None:
        original(*args, **kwargs)
        rubato = sys.modules.get("rubato.split.controller")
        if rubato is None or not rubato.CONTROLLER.is_leader:
            return
        for step in steps:
            if rubato.CONTROLLER.steps.count >= step:
                try:  # A mark that Rubato does not see, and so does not undo.
                    os.mknod(f"{os.environ['CORPUS_PROBE']}.killed{step}")
                except FileExistsError:
                    continue
                os.killpg(os.getpgrp(), signal.SIGKILL)

    torch.autograd.backward = backward


class ObservingLoader(importlib.abc.Loader):
    """Loads torch as its own loader does, then tells the observer."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: Any) -> Any:
        return self.loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        Observer().on_torch()


class TorchFinder(importlib.abc.MetaPathFinder):
    """Finds torch where everybody else does."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != "torch" or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = ObservingLoader(spec.loader)
        return spec


def install() -> None:
    sys.meta_path.insert(0, TorchFinder())
