"""The loops around a step of the script: how many steps an epoch has, and how many there will be.

At every step the Python frames that lead to it are looked at. The source of each says which `for`
loops the step lies in, and the names that the frame sees say how long they are. How many steps an
iteration takes is counted. `break`, `return`, `while` and training code that the first steps do
not reach make the number a bound, or unknown: what is not certain is not said.
"""

import ast
import functools
import os
import sys
from fractions import Fraction
from typing import Any, Dict, List, Optional, Tuple

from rubato.check.expressions import Scope, Unknown

FRAMES_MAX = 50
STEPS_WATCHED = 64
FILE_BYTES_MAX = 2 << 20  # Of a source that is read.

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIBRARY = os.path.dirname(os.path.abspath(os.__file__))
Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def is_users(path: str) -> bool:
    """Whether a source is the user's own, not of a package."""
    path = os.path.abspath(path)
    return (not path.startswith((HERE + os.sep, LIBRARY + os.sep))
            and "/site-packages/" not in path and "/dist-packages/" not in path
            and os.path.isfile(path))


class Source:
    """A file of the user's, parsed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.tree: Optional[ast.Module] = None
        try:
            if os.path.getsize(path) <= FILE_BYTES_MAX:
                with open(path, "rb") as file:
                    self.tree = ast.parse(file.read())
        except (OSError, SyntaxError, ValueError, RecursionError):
            pass

    def loops_at(self, line: int) -> List[Any]:
        """Loops that a line lies in, the innermost first, within its function."""
        found: List[Any] = []
        node: Any = self.tree
        while node is not None:
            following = None
            for child in inner_nodes(node):
                if contains(child, line):
                    following = child
                    break
            if isinstance(following, Function):
                found = []
            elif isinstance(following, (ast.For, ast.AsyncFor, ast.While)):
                if any(contains(statement, line) for statement in following.body):
                    found.insert(0, following)
            node = following
        return found

    def calls_named(self, names: set) -> List[Tuple[int, int]]:
        """Lines of calls of functions and methods with these names."""
        if self.tree is None:
            return []
        return [(node.lineno, node.end_lineno or node.lineno) for node in ast.walk(self.tree)
                if isinstance(node, ast.Call)
                and getattr(node.func, "id", getattr(node.func, "attr", None)) in names]


def inner_nodes(node: Any) -> List[Any]:
    """Those below that have lines; handlers and cases among them."""
    return [child for child in ast.iter_child_nodes(node) if hasattr(child, "lineno")]


def contains(node: Any, line: int) -> bool:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    return first <= line <= (node.end_lineno or node.lineno)


def may_leave(loop: Any, inner: Any) -> bool:
    """Whether a loop can end before its last item, but for the loop inside it."""
    def search(node: Any, is_in_other_loop: bool) -> bool:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function) or child is inner:
                continue
            if isinstance(child, ast.Return) or is_exit(child):
                return True
            if isinstance(child, ast.Break) and not is_in_other_loop:
                return True
            is_loop = isinstance(child, (ast.For, ast.AsyncFor, ast.While))
            if search(child, is_in_other_loop or is_loop):
                return True
        return False

    return search(loop, False)


def is_exit(node: Any) -> bool:
    """`raise StopTraining`, `sys.exit(3)`: errors that are meant to happen."""
    if isinstance(node, ast.Raise):
        return True
    name = getattr(getattr(node, "func", None), "attr", getattr(
        getattr(node, "func", None), "id", ""))
    return isinstance(node, ast.Call) and name in ("exit", "_exit", "quit")


class Loop:
    """One loop around the steps."""

    def __init__(self, path: str, node: Any, frame: Any, may_end_early: bool) -> None:
        self.path = path
        self.line = node.lineno
        self.node = node
        self.may_end_early = may_end_early
        self.length: Optional[int] = None
        self.loader: Any = None
        if isinstance(node, ast.For):
            scope = Scope(frame.f_locals, frame.f_globals)
            try:
                self.length = scope.length(node.iter)
            except Unknown:
                pass
            self.loader = loader_of(node.iter, scope)

    def progress(self, frame: Any, batches: Dict[int, int]) -> Optional[int]:
        """A number that rises by one with every iteration."""
        target = self.counter()
        if target is not None:
            value = frame.f_locals.get(target)
            if isinstance(value, int):
                return value // self.stride(frame)
        if self.loader is not None:
            return batches.get(id(self.loader), 0)
        return None

    def counter(self) -> Optional[str]:
        """The variable that counts iterations, if the script has one."""
        if not isinstance(self.node, ast.For) or not isinstance(self.node.iter, ast.Call):
            return None
        name = getattr(self.node.iter.func, "id", getattr(self.node.iter.func, "attr", ""))
        target = self.node.target
        if name == "enumerate" and isinstance(target, ast.Tuple):
            target = target.elts[0]
        elif name not in ("range", "trange"):
            return None
        return target.id if isinstance(target, ast.Name) else None

    def stride(self, frame: Any) -> int:
        call = self.node.iter
        if getattr(call.func, "id", "") == "range" and len(call.args) == 3:
            try:
                value = Scope(frame.f_locals, frame.f_globals).value(call.args[2])
                return value if isinstance(value, int) and value > 0 else 1
            except Unknown:
                return 1
        return 1


def loader_of(node: ast.expr, scope: Scope) -> Any:
    """The DataLoader that a loop goes over, if it is one; the first of several."""
    if isinstance(node, ast.Call) and node.args:
        return loader_of(node.args[0], scope)
    data = sys.modules.get("torch.utils.data")
    try:
        value = scope.value(node)
    except Unknown:
        return None
    return value if data is not None and isinstance(value, data.DataLoader) else None


class LoopWatch:
    """Of one run."""

    def __init__(self) -> None:
        self.is_on = False
        self.sources: Dict[str, Source] = {}
        self.batches: Dict[int, int] = {}  # By loader.
        self.loops: List[Loop] = []  # Around the first step, the innermost first.
        self.progress: List[List[Optional[int]]] = []  # By step, then by loop.
        self.is_regular = True  # All steps lie in the same loops.
        self.functions: Dict[str, Tuple[str, int]] = {}  # On the way to a step: where called.
        self.backward_lines: set = set()

    def source(self, path: str) -> Source:
        if path not in self.sources:
            self.sources[path] = Source(path)
        return self.sources[path]

    def install(self) -> None:
        """Counts batches of loaders."""
        from torch.utils import data

        watch = self
        original_iter = data.DataLoader.__iter__

        @functools.wraps(original_iter)
        def iterate(loader: Any) -> Any:
            iterator = original_iter(loader)
            iterator._rubato_loader = id(loader)
            return iterator

        base = data.dataloader._BaseDataLoaderIter
        original_next = base.__next__

        @functools.wraps(original_next)
        def following(iterator: Any) -> Any:
            batch = original_next(iterator)
            loader = getattr(iterator, "_rubato_loader", 0)
            watch.batches[loader] = watch.batches.get(loader, 0) + 1
            return batch

        data.DataLoader.__iter__ = iterate
        base.__next__ = following
        self.is_on = True

    def user_frames(self, frame: Any) -> List[Any]:
        found = []
        for _ in range(FRAMES_MAX):
            if frame is None:
                break
            path = frame.f_code.co_filename
            if path in self.sources or is_users(path):
                self.source(path)
                found.append(frame)
            frame = frame.f_back
        return found

    def on_backward(self, frame: Any) -> None:
        if self.is_on and len(self.progress) < STEPS_WATCHED:
            frames = self.user_frames(frame)
            if frames:
                self.backward_lines.add((frames[0].f_code.co_filename, frames[0].f_lineno))

    def on_step(self, frame: Any) -> None:
        if not self.is_on or len(self.progress) >= STEPS_WATCHED:
            return
        frames = self.user_frames(frame)
        around: List[Tuple[Any, Any]] = []  # Frame and loop node.
        for each in frames:
            for node in self.source(each.f_code.co_filename).loops_at(each.f_lineno):
                around.append((each, node))
        if not self.progress:
            inner = None
            for each, node in around:
                self.loops.append(Loop(each.f_code.co_filename, node, each,
                                       may_leave(node, inner)))
                inner = node
        nodes = [node for _, node in around]
        if nodes != [loop.node for loop in self.loops]:
            self.is_regular = False
            return
        self.remember_functions(frames)
        self.progress.append([loop.progress(each, self.batches)
                              for loop, (each, _) in zip(self.loops, around)])

    def remember_functions(self, frames: List[Any]) -> None:
        for each, caller in zip(frames, frames[1:]):
            name = each.f_code.co_name
            if not name.startswith("<"):
                self.functions[name] = (caller.f_code.co_filename, caller.f_lineno)

    # What follows from it.

    def rate(self) -> Optional[Fraction]:
        """Steps per iteration of the innermost loop."""
        rows = [row for row in self.progress if row[1:] == self.progress[0][1:]]
        firsts = [(at, row[0]) for at, row in enumerate(rows)
                  if row[0] is not None and (at == 0 or rows[at - 1][0] != row[0])]
        if len(firsts) < 2:
            return None
        rates = {Fraction(b[0] - a[0], b[1] - a[1]) for a, b in zip(firsts, firsts[1:])
                 if b[1] > a[1]}
        if len(rates) == 1:
            return rates.pop()
        return None

    def has_other_training(self) -> bool:
        """Whether there is training code that the first steps have not come to."""
        for source in list(self.sources.values()):
            for first, last in source.calls_named({"backward"}):
                if not any(path == source.path and first <= line <= last
                           for path, line in self.backward_lines):
                    return True
            for name, (path, line) in self.functions.items():
                if name in ("step", "closure"):
                    continue
                for first, last in source.calls_named({name}):
                    if not (path == source.path and first <= line <= last):
                        return True
        return False

    def summary(self) -> Dict[str, Any]:
        """`steps_per_epoch`, `epochs`, `steps`: whole numbers, or None. `bound`: whether they are
        exact, at most or at least what the script will take; `why` they are not known."""
        nothing = {"steps_per_epoch": None, "epochs": None, "steps": None, "bound": "exact",
                   "why": ""}
        if not self.progress or not self.loops:
            return {**nothing, "why": "steps are not taken in a loop of the script's own files"}
        if not self.is_regular:
            return {**nothing, "why": "steps are taken in several loops"}
        rate = self.rate()
        if rate is None:
            return {**nothing, "why": "steps do not follow iterations of the loop on line "
                    f"{self.loops[0].line} at a fixed rate"}
        return self.counted(rate, nothing)

    def counted(self, rate: Fraction, nothing: Dict[str, Any]) -> Dict[str, Any]:
        lengths = [loop.length for loop in self.loops]
        at_epoch = next((at for at, loop in enumerate(self.loops) if loop.loader is not None),
                        0 if len(self.loops) > 1 else -1)
        total, steps_per_epoch, epochs = rate, None, None
        is_whole = True
        for at, length in enumerate(lengths):
            if length is None:
                total = None
                unknown = self.loops[at]
                break
            total *= length
            if total.denominator != 1:
                is_whole = False
                total = Fraction(total.numerator // total.denominator)
            if at == at_epoch:
                steps_per_epoch = int(total)
                epochs = 1
            elif at > at_epoch and epochs is not None:
                epochs *= length
        if total is None:
            kind = "a while loop" if isinstance(unknown.node, ast.While) else "a loop"
            return {**nothing, "steps_per_epoch": steps_per_epoch,
                    "why": f"{kind} on line {unknown.line} does not show its length"}
        return {"steps_per_epoch": steps_per_epoch, "epochs": epochs, "steps": int(total),
                "bound": self.bound(is_whole), "why": ""}

    def bound(self, is_whole: bool) -> str:
        may_end_early = any(loop.may_end_early for loop in self.loops)
        if self.has_other_training():
            return "unknown" if may_end_early else "at least"
        if may_end_early:
            return "at most"
        return "exact" if is_whole else "about"
