"""Whether a script that starts again goes on from a checkpoint of its own.

It does if it has loaded a file that the job wrote while it trained, and the first root module that
it calls has exactly the parameters that were in the file. A script that only looks at such a file,
or loads the best model to compare with, is not taken for one that resumes: it would train a second
time what is trained already.
"""

import functools
import hashlib
from typing import Any, Callable, Dict, List, Optional, Set

import torch

from rubato.split.survival.saved_state import values_of

DEPTH_MAX = 8  # Of containers in a checkpoint.


class LoadedFiles:
    """What `torch.load` has returned so far, by the step with which its file was written."""

    def __init__(self) -> None:
        self.step: Optional[int] = None  # Of the file of the job that was opened last.
        self.hashes: Dict[int, Set[bytes]] = {}
        self.original: Any = None

    def watch(self) -> None:
        self.original = original = torch.load

        @functools.wraps(original)
        def load(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if self.step is not None:
                found = self.hashes.setdefault(self.step, set())
                visit(result, lambda tensor: found.add(hash_of_tensor(tensor)), set())
            return result

        torch.load = load

    def stop(self) -> None:
        if self.original is not None:
            torch.load, self.original = self.original, None

    def step_of(self, module: Any) -> Optional[int]:
        """With which the parameters of a module were saved; nothing if they were not."""
        mine = {hash_of_tensor(parameter) for parameter in module.parameters()}
        steps: List[int] = [step for step, found in self.hashes.items() if mine <= found]
        return max(steps, default=None) if mine else None  # type: ignore[type-var]


def hash_of_tensor(tensor: torch.Tensor) -> bytes:
    if tensor.device.type != "cpu" or tensor.layout != torch.strided or tensor.is_quantized:
        return b""
    head = f"{tuple(tensor.shape)} {tensor.dtype}".encode()
    return hashlib.blake2b(values_of(tensor).numpy().data, key=head[:64], digest_size=16).digest()


def visit(value: Any, see: Callable[[torch.Tensor], None], seen: Set[int], depth: int = 0) -> None:
    """Calls `see` with the tensors of a checkpoint."""
    if isinstance(value, torch.Tensor):
        see(value)
        return
    if id(value) in seen or depth > DEPTH_MAX:
        return
    seen.add(id(value))
    if isinstance(value, torch.nn.Module):
        for tensor in (*value.parameters(), *value.buffers()):
            see(tensor)
    elif isinstance(value, dict):
        for entry in value.values():
            visit(entry, see, seen, depth + 1)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            visit(entry, see, seen, depth + 1)
    elif isinstance(getattr(value, "__dict__", None), dict):
        visit(vars(value), see, seen, depth + 1)
