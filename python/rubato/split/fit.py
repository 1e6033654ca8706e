"""How many rows of a batch a worker can compute at once, chosen from measured memory.

The first call of each kind is measured on some of its rows (footprint.py), before anything of its
size is computed. What is left of the worker's memory then says how many rows fit:

    rows = (SAFETY * room - bytes whatever the rows) / bytes of a row

It is looked at again now and then, since what the script keeps changes. A call that runs out of
memory all the same halves the rows from then on.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import nn
from torch.utils._pytree import TreeSpec, tree_flatten

from rubato.split.footprint import Footprint, measure, rows_of
from rubato.split.memory import tensors_of
from rubato.split.memory_limits import Limit, peak_resident, prefer_space_to_speed
from rubato.split.part import Settings
from rubato.split.rehearsal import Verdict

SAFETY = 0.8  # Of the room: measurements are of a few rows, and memory is not used without gaps.
# Parameters' memory that comes with the first steps: gradients, and what optimizers keep.
FIRST_STEPS = 2
COPIES_AFTER_FIRST_STEPS = 3
# Outputs of the whole batch that stay with the leader: gathered, their gradients, and what a loss
# keeps of them.
OUTPUT_COPIES = 3
# Of arguments and parameters: a call that takes less than so many times their memory, which is
# next to any, is not measured if nothing but the machine's memory bounds it.
PLAIN_FACTOR = 500
# What a rehearsal holds at a time: the whole and its parts, in single and in double precision.
REHEARSED_COPIES = 8
REHEARSED_ROWS_MIN = 4
SPARING_BATCHES = 2  # With less room than for so many batches memory is used sparingly.
PIECES_MAX = 64  # Of a batch, unless memory runs out with these.
AGAIN_AFTER_CALLS = 32  # Then the room is looked at again.


class Room(NamedTuple):
    """What a worker may take for a call."""

    bytes: int
    limit: Limit


def megabytes(size: float) -> str:
    return f"{size / 1e6:.0f} MB"


class MemoryFit:
    """Of one root."""

    def __init__(self, root: Any) -> None:
        self.root, self.controller = root, root.controller
        self.footprints: Dict[Any, Optional[Footprint]] = {}  # By kind of call.
        self.known: Dict[Any, Optional[int]] = {}  # Rows that fit, by what is quick to look at.
        self.calls = 0  # Since `known` was emptied.
        self.rows_max: Optional[int] = None  # That have not failed.
        self.newest: Optional[Tuple[Footprint, Optional[int]]] = None  # And rows that fit.
        self.has_failed = False
        self.undivided: List[str] = []
        self.used: Optional[Dict[str, Any]] = None  # Of the newest call in pieces.

    # Before a call.

    def rows(self, module: nn.Module, args: Any, kwargs: Any, workers: int) -> Optional[int]:
        """That one worker can compute at once; nothing if that is the whole batch."""
        self.calls += 1
        if self.calls > AGAIN_AFTER_CALLS:
            self.calls = 0
            self.known.clear()
        key = self.quick_key(module, args, kwargs, workers)
        if key not in self.known:
            leaves, spec = tree_flatten((args, kwargs))
            self.known[key] = self.look(module, leaves, spec, workers)
        return self.known[key]

    @staticmethod
    def quick_key(module: nn.Module, args: Any, kwargs: Any, workers: int) -> Any:
        leaves = args if not kwargs and len(args) == 1 else tree_flatten((args, kwargs))[0]
        return (workers, torch.is_grad_enabled(), torch.is_inference_mode_enabled(),
                module.training,
                tuple([leaf.shape if isinstance(leaf, torch.Tensor) else None for leaf in leaves]))

    def look(self, module: nn.Module, leaves: List[Any], spec: TreeSpec,
             workers: int) -> Optional[int]:
        self.newest = None
        if torch.is_inference_mode_enabled():
            return None
        found = self.footprint(module, leaves, spec, workers)
        batch = found.rows(leaves) if found is not None else 0
        if batch < 2:
            return None
        rows = self.rows_that_fit(module, found, batch, workers)
        self.newest = (found, rows)
        if rows is not None and rows < SPARING_BATCHES * batch:
            prefer_space_to_speed()
        return None if rows is None or rows >= batch else rows

    def rows_that_fit(self, module: nn.Module, found: Footprint, batch: int,
                      workers: int) -> Optional[int]:
        room = self.room(module, workers)
        if room is None or found.per_row == 0:
            return self.rows_max
        held = OUTPUT_COPIES * found.of_outputs * batch
        rows = int(SAFETY * (room.bytes - held) - found.fixed) // found.per_row
        least = -(-batch // PIECES_MAX)
        if rows < least:
            self.tell_tight(room, found, least)
            rows = least
        return rows if self.rows_max is None else min(rows, self.rows_max)

    def room(self, module: nn.Module, workers: int) -> Optional[Room]:
        tightest = self.controller.memory_limits.tightest(workers)
        if tightest is None:
            return None
        room, limit = tightest
        if self.controller.steps.count < FIRST_STEPS and torch.is_grad_enabled():
            room -= COPIES_AFTER_FIRST_STEPS * bytes_of(tensors_of(module))
        return Room(room, limit)

    def footprint(self, module: nn.Module, leaves: List[Any], spec: TreeSpec,
                  workers: int) -> Optional[Footprint]:
        """Measured once for each kind of call."""
        if not self.is_worth_measuring(module, leaves, workers):
            return None
        key = self.root.signature(module, leaves, spec)
        if key not in self.footprints:
            self.footprints[key] = measure(self.controller, module, spec, leaves, Settings())
        return self.footprints[key]

    def is_worth_measuring(self, module: nn.Module, leaves: List[Any], workers: int) -> bool:
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        own = tensors_of(module)
        # Device memory is not ours to measure, and its users cannot be forked.
        if not tensors or any(tensor.device.type != "cpu" for tensor in [*tensors, *own]):
            return False
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            return False
        if self.has_failed or self.controller.memory_limits.is_tight:
            return True
        room = self.room(module, workers)
        return room is not None and PLAIN_FACTOR * bytes_of([*tensors, *own]) > room.bytes

    def rehearsed(self, leaves: List[Any]) -> List[Any]:
        """As much of the arguments of the call that was looked at as a rehearsal has room for."""
        if self.newest is None or self.newest[1] is None:
            return leaves
        found, fitting = self.newest
        rows = max(REHEARSED_ROWS_MIN, fitting // REHEARSED_COPIES)
        return rows_of(leaves, found.dimensions, rows) if rows < found.rows(leaves) else leaves

    def forget_kinds(self) -> None:
        """The module is another one, so to speak."""
        self.footprints.clear()
        self.known.clear()
        self.newest = None

    # After a failure.

    def shrink(self, rows: int, verdict: Verdict) -> Optional[int]:
        """So many rows at once ran out of memory: from now on half of them. Nothing if the module
        cannot be divided."""
        if verdict.normalises:
            return None
        self.rows_max = max(1, rows // 2)
        self.known.clear()
        self.controller.notices.tell(
            f"out of memory {self.root.number}",
            f"{self.root.name} ran out of memory with {rows} rows at once: it is computed again in "
            "smaller pieces")
        return self.rows_max

    def rows_after_failure(self, module: nn.Module, args: Any, kwargs: Any,
                           workers: int) -> Optional[int]:
        """The whole call ran out of memory; nothing if it has no rows that are known."""
        leaves, spec = tree_flatten((args, kwargs))
        self.has_failed = True
        self.known.clear()
        found = self.footprint(module, leaves, spec, workers)
        batch = found.rows(leaves) if found is not None else 0
        if batch < 2:
            return None
        self.rows_max = batch // 2
        fitting = self.rows_that_fit(module, found, batch, workers)
        self.newest = (found, fitting)
        return fitting

    def can_shrink(self, rows: int, verdict: Verdict) -> bool:
        return rows > 1 and not verdict.normalises

    # For people.

    def tell_tight(self, room: Room, found: Footprint, rows: int) -> None:
        self.controller.notices.tell(
            f"tight {self.root.number}",
            f"{room.limit.source} ({megabytes(room.limit.bytes)}) leaves "
            f"{megabytes(max(0, room.bytes))} for calls of {self.root.name}, and {rows} rows take "
            f"{megabytes(found.fixed + rows * found.per_row)}: memory may run out")

    def tell_undivided(self, why: str) -> None:
        if why in self.undivided:
            return
        self.undivided.append(why)
        self.controller.notices.tell(
            f"undivided {self.root.name} {why}",
            f"a batch of {self.root.name} may not fit a worker's memory, and it is not computed in "
            f"smaller pieces: {why}")

    def note(self, batch: int, workers: int, pieces: List[int]) -> None:
        """A call was computed so: by worker, the sizes of the pieces of the largest part."""
        used = {"batch": batch, "workers": workers, "pieces": len(pieces),
                "piece_rows": max(pieces)}
        if used != self.used:
            self.used = used
            self.controller.notices.tell(
                f"pieces {self.root.number}",
                f"a batch of {batch} of {self.root.name} does not fit a worker's memory: "
                f"{described(used)}")
        self.controller.memory_use.note(self.root.number, used)

    def summary(self) -> Dict[str, Any]:
        measured = [found for found in self.footprints.values() if found is not None]
        return {"bytes_per_row": max((found.per_row for found in measured), default=0),
                "bytes_fixed": max((found.fixed for found in measured), default=0),
                "undivided": self.undivided, **(self.used or {})}


def described(used: Dict[str, Any]) -> str:
    each = f"each of {used['workers']} workers computes its part" if used["workers"] > 1 else (
        "it is computed")
    return f"{each} in {used['pieces']} pieces of {used['piece_rows']} rows"


def bytes_of(tensors: List[torch.Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


class MemoryUse:
    """What this job's workers use of memory, for reports."""

    def __init__(self, controller: Any) -> None:
        self.controller = controller
        self.by_root: Dict[int, Dict[str, Any]] = {}
        self.most = 0  # Resident bytes of any worker, at any time.

    def note(self, root: int, used: Dict[str, Any]) -> None:
        self.by_root[root] = used

    def forget(self, root: int) -> None:
        """It is computed in one piece again, for instance by more workers."""
        self.by_root.pop(root, None)

    def look(self) -> int:
        pids: Tuple[Any, ...] = ("self", *self.controller.group.pids())
        self.most = max(self.most, *map(peak_resident, pids))
        return self.most

    def report(self) -> Dict[str, Any]:
        """Of the root that needs most pieces."""
        largest = max(self.by_root.values(), key=lambda used: used["pieces"], default={})
        tightest = self.controller.memory_limits.tightest(self.controller.group.count + 1)
        limit = None if tightest is None else tightest[1]
        workers = self.controller.group.count + 1
        return {"worker_bytes": self.look(),
                "limit_bytes": 0 if limit is None else limit.bytes // (
                    workers if limit.is_shared else 1),
                "limit": "" if limit is None else limit.source, **largest}
