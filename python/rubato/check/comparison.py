"""Compares runs of a script step by step. Other runs of the plain script say how far apart two
right runs may be."""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

# Times what plain runs with other roundings differ by; few of them, so a wide margin.
SPREAD_FACTOR = 12.0
PROBLEMS_MAX = 5


class Floors(NamedTuple):
    """What is allowed even if plain runs do not differ."""

    moved: float  # Relative to what a tensor has moved by, or a loss.
    size: float  # Relative to the tensor: of its own last place.
    typical: float = 0.0  # Relative to what tensors of its owner have typically moved by.


# Rounding before anything amplifies it.
SINGLE = Floors(moved=2e-5, size=3e-7)
# Nothing that 12 steps make of the 16th digit reaches the 9th. A gradient that is zero but for
# rounding is compared with others.
DOUBLE = Floors(moved=1e-9, size=1e-13, typical=1e-9)


@dataclass
class Comparison:
    """What was found."""

    deviations: List[str] = field(default_factory=list)  # Numbers that are off.
    differences: List[str] = field(default_factory=list)  # All else; no rounding explains it.
    steps: int = 0
    worst: float = 0.0
    worst_place: str = ""
    worst_share: float = 0.0  # Of what a module or an optimizer's state has moved by as a whole.
    is_bit_equal: bool = True

    @property
    def problems(self) -> List[str]:
        return self.differences + self.deviations

    def see(self, place: str, deviation: float, allowed: float) -> None:
        if deviation == 0.0:
            return
        self.is_bit_equal = False
        ratio = deviation / allowed if allowed else math.inf
        if not ratio <= self.worst:
            self.worst, self.worst_place = ratio, place
        if not ratio <= 1.0 and len(self.deviations) < PROBLEMS_MAX:
            self.deviations.append(f"{place} is off by {deviation:.3g}, and {allowed:.3g} is what "
                                 "rounding explains")


def owner_of(name: str) -> str:
    return name.partition(":")[0]


def norm(values: Sequence[float]) -> float:
    return math.sqrt(math.fsum(value * value for value in values))


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    """Not-a-number in the same places is no distance."""
    if one == other:
        return 0.0
    total = 0.0
    for a, b in zip(one, other):
        if a != b and not (math.isnan(a) and math.isnan(b)):
            total += (a - b) * (a - b)
    return math.sqrt(total)


def compare(reference: Dict[str, Any], found: Dict[str, Any],
            others: Sequence[Dict[str, Any]], floors: Floors = SINGLE) -> Comparison:
    """The records of a plain run, a shared one, and plain ones with other roundings."""
    comparison = Comparison()
    comparison.steps = min(len(reference["steps"]), len(found["steps"]))
    if others:  # Slow ones need not have come as far.
        comparison.steps = min(comparison.steps, max(len(other["steps"]) for other in others))
    for step in range(comparison.steps):
        compare_step(reference, found, others, step, floors, comparison)
    compare_losses(reference, found, others, floors, comparison)
    compare_ends(reference, found, comparison)
    return comparison


class Owner:
    """A module, or an optimizer's state: its tensors at one step, taken together."""

    def __init__(self) -> None:
        self.numbers = 0
        self.moved_squared = 0.0
        self.deviation_squared = 0.0

    @property
    def share(self) -> float:
        if self.deviation_squared == 0.0:
            return 0.0
        return (math.sqrt(self.deviation_squared / self.moved_squared) if self.moved_squared
                else math.inf)

    def typical_movement(self, numbers: int) -> float:
        return math.sqrt(self.moved_squared * numbers / self.numbers) if self.numbers else 0.0


def compare_step(reference: Dict[str, Any], found: Dict[str, Any],
                 others: Sequence[Dict[str, Any]], step: int, floors: Floors,
                 comparison: Comparison) -> None:
    values = reference["steps"][step]
    # When an object that nobody needs is gone is the garbage collector's choice.
    theirs = found["steps"][step]
    common = {owner_of(name) for name in values} & {owner_of(name) for name in theirs}
    names = sorted(name for name in set(values) ^ set(theirs) if owner_of(name) in common)
    if names:
        comparison.is_bit_equal = False
        comparison.differences.append(f"after step {step + 1} {names[0]} is not in both runs")
        return
    owners: Dict[str, Owner] = defaultdict(Owner)
    movements = {name: movement(reference["first"].get(name), value)
                 for name, value in values.items()}
    for name, value in values.items():
        owner = owners[owner_of(name)]
        owner.numbers += len(value)
        owner.moved_squared += movements[name] ** 2
    for name, value in values.items():
        mine = theirs.get(name, value)
        if mine == value:
            continue
        if len(mine) != len(value):
            comparison.differences.append(f"{name} has another shape after step {step + 1}")
            continue
        rest = [other["steps"][step].get(name) for other in others if step < len(other["steps"])]
        spread = max((distance(other, value) for other in rest
                      if other is not None and len(other) == len(value)), default=0.0)
        deviation, owner = distance(mine, value), owners[owner_of(name)]
        owner.deviation_squared += deviation ** 2
        allowed = (SPREAD_FACTOR * spread + floors.moved * movements[name]
                   + floors.size * norm(value)
                   + floors.typical * owner.typical_movement(len(value)))
        comparison.see(f"{name} after step {step + 1}", deviation, allowed)
    comparison.worst_share = max([comparison.worst_share,
                                  *(owner.share for owner in owners.values())])


def movement(first: Optional[Sequence[float]], value: Sequence[float]) -> float:
    """Since before the first step."""
    if first is None or len(first) != len(value):
        return norm(value)
    return distance(value, first)


def compare_losses(reference: Dict[str, Any], found: Dict[str, Any],
                   others: Sequence[Dict[str, Any]], floors: Floors,
                   comparison: Comparison) -> None:
    counts = [len(record["losses"]) for record in (reference, found, *others)]
    if counts[0] != counts[1] and len(reference["steps"]) == len(found["steps"]):
        comparison.is_bit_equal = False
        comparison.differences.append(f"backward was called {counts[1]} times, not {counts[0]}")
    scale = 0.0
    for at in range(min(counts[0], counts[1], max(counts[2:], default=counts[0]))):
        value, mine = reference["losses"][at], found["losses"][at]
        scale = max(scale, abs(value)) if math.isfinite(value) else scale
        if value == mine or (math.isnan(value) and math.isnan(mine)):
            continue
        spread = max((abs(other["losses"][at] - value) for other in others
                      if at < len(other["losses"])), default=0.0)
        # A loss near zero is a difference of larger numbers.
        allowed = SPREAD_FACTOR * spread + floors.moved * abs(value) + floors.size * scale
        comparison.see(f"loss {at + 1}", abs(mine - value), allowed)
        share = abs(mine - value) / scale if scale else math.inf
        comparison.worst_share = max(comparison.worst_share, share)


def compare_ends(reference: Dict[str, Any], found: Dict[str, Any],
                 comparison: Comparison) -> None:
    """Runs that came as far ended alike, with the same random numbers before them."""
    is_late = "late" in (reference["end"], found["end"])
    if is_late:
        return
    if len(reference["steps"]) != len(found["steps"]):
        comparison.is_bit_equal = False
        comparison.differences.append(
            f"the script took {len(found['steps'])} steps, not {len(reference['steps'])}")
    if reference["code"] != found["code"]:
        comparison.differences.append(f"the script ended with exit code {found['code']}, "
                                      f"not {reference['code']}")
    for name in sorted(set(reference["random"]) & set(found["random"])):
        if reference["random"][name] != found["random"][name]:
            comparison.is_bit_equal = False
            comparison.differences.append(f"the random numbers of {name} went on differently")
