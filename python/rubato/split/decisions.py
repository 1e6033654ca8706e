"""Whether a forward looks at values of the batch, and so may take another way for a part of it.

Runs in a forked child. Everything that is computed from the tensors to be cut is followed, by the
memory it lies in; a number that is read from there into Python is a decision, or may be one.
"""

import os
import sys
from typing import Any, Callable, List, Optional, Sequence, Set

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

READS = ("_local_scalar_dense", "is_nonzero", "equal")
# Parts of torch that read values to check them, or to choose between equal ways.
TORCH = os.path.dirname(torch.__file__)
HARMLESS = tuple(os.path.join(TORCH, *path) for path in (
    ("distributions",), ("nn", "modules", "transformer.py"), ("nn", "utils", "rnn.py"),
    ("nn", "functional.py"), ("autograd",)))
MACHINERY = (os.path.join(TORCH, "utils", "_python_dispatch.py"), os.path.abspath(__file__))


class Decisions(TorchDispatchMode):
    """Notices reads of what depends on some tensors."""

    def __init__(self, sources: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self.kept: List[torch.Tensor] = list(sources)  # So that no address is used again.
        self.followed: Set[int] = {address(tensor) for tensor in sources}
        self.has_read = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        leaves, _ = tree_flatten((args, kwargs or {}))
        is_followed = any(isinstance(leaf, torch.Tensor) and address(leaf) in self.followed
                          for leaf in leaves)
        if is_followed and func.__name__.partition(".")[0] in READS:
            self.read()
        result = func(*args, **(kwargs or {}))
        if is_followed:
            for leaf in tree_flatten(result)[0]:
                if isinstance(leaf, torch.Tensor):
                    self.followed.add(address(leaf))
                    self.kept.append(leaf)
        return result

    def read(self) -> None:
        frame: Optional[Any] = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename in MACHINERY:
            frame = frame.f_back
        if frame is not None and not frame.f_code.co_filename.startswith(HARMLESS):
            self.has_read = True

    def watch_conversions(self) -> None:
        """To lists and arrays, which no operator does. For good: this process is a child."""
        for name in ("tolist", "numpy", "__array__"):
            setattr(torch.Tensor, name, self.noticed(getattr(torch.Tensor, name)))

    def noticed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def convert(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if address(tensor) in self.followed:
                self.read()
            return original(tensor, *args, **kwargs)
        return convert


def address(tensor: torch.Tensor) -> int:
    if tensor.layout != torch.strided:
        return id(tensor)
    return tensor.storage().data_ptr() or id(tensor)


def foreign_tensors(outputs: Sequence[Any], known: Sequence[torch.Tensor]) -> bool:
    """Whether gradients flow to tensors that are neither inputs nor parameters. The outputs must
    have been computed in anomaly mode, in which new nodes remember where they were made."""
    own = {id(tensor) for tensor in known}
    nodes = [output.grad_fn for output in outputs
             if isinstance(output, torch.Tensor) and output.grad_fn is not None]
    seen = set(nodes)
    while nodes:
        node = nodes.pop()
        variable = getattr(node, "variable", None)
        if variable is not None:
            if id(variable) not in own:
                return True
            continue
        if "traceback_" not in node.metadata:
            return True  # Part of a graph that was there before.
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                nodes.append(following)
    return False


def why_it_looks_outside(module: torch.nn.Module, run: Callable[[], Any]) -> Optional[str]:
    """`run` returns inputs, outputs and more."""
    with torch.autograd.set_detect_anomaly(True):
        inputs, outputs = run()[:2]
    known = [*module.parameters(), *(leaf for leaf in inputs if isinstance(leaf, torch.Tensor))]
    if foreign_tensors(outputs, known):
        return ("forward uses tensors that need gradients and are neither its arguments nor "
                "parameters of the module")
    return None


def why_it_decides(sources: Sequence[torch.Tensor], run: Callable[[], Any]) -> Optional[str]:
    decisions = Decisions(sources)
    decisions.watch_conversions()
    with decisions:
        run()
    if decisions.has_read:
        return "forward reads values of the batch, and a part might take another way by them"
    return None
