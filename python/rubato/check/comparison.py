"""Compares runs of a script step by step. Other runs of the plain script say how far apart two
right runs may be."""

import math
from dataclasses import dataclass, field
from typing import Any, Dict, List, Sequence

# Times what plain runs with other roundings differ by; few of them, so a wide margin.
SPREAD_FACTOR = 12.0
# Relative to what a tensor has moved by, or a loss: rounding before anything amplifies it.
MOVED_FLOOR = 2e-5
SIZE_FLOOR = 3e-7  # Relative to the tensor: of its own last place.
PROBLEMS_MAX = 5


@dataclass
class Comparison:
    """What was found."""

    problems: List[str] = field(default_factory=list)
    steps: int = 0
    worst: float = 0.0
    worst_place: str = ""
    is_bit_equal: bool = True

    def see(self, place: str, deviation: float, allowed: float) -> None:
        if deviation == 0.0:
            return
        self.is_bit_equal = False
        ratio = deviation / allowed if allowed else math.inf
        if not ratio <= self.worst:
            self.worst, self.worst_place = ratio, place
        if not ratio <= 1.0 and len(self.problems) < PROBLEMS_MAX:
            self.problems.append(f"{place} is off by {deviation:.3g}, and {allowed:.3g} is what "
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
            others: Sequence[Dict[str, Any]]) -> Comparison:
    """The records of a plain run, a shared one, and plain ones with other roundings."""
    comparison = Comparison()
    comparison.steps = min(len(reference["steps"]), len(found["steps"]))
    if others:  # Slow ones need not have come as far.
        comparison.steps = min(comparison.steps, max(len(other["steps"]) for other in others))
    for step in range(comparison.steps):
        compare_step(reference, found, others, step, comparison)
    compare_losses(reference, found, others, comparison)
    compare_ends(reference, found, comparison)
    return comparison


def compare_step(reference: Dict[str, Any], found: Dict[str, Any],
                 others: Sequence[Dict[str, Any]], step: int, comparison: Comparison) -> None:
    values = reference["steps"][step]
    # When an object that nobody needs is gone is the garbage collector's choice.
    theirs = found["steps"][step]
    owners = {owner_of(name) for name in values} & {owner_of(name) for name in theirs}
    names = sorted(name for name in set(values) ^ set(theirs) if owner_of(name) in owners)
    if names:
        comparison.is_bit_equal = False
        comparison.problems.append(f"after step {step + 1} {names[0]} is not in both runs")
        return
    for name, value in values.items():
        mine = theirs.get(name, value)
        if mine == value:
            continue
        rest = [other["steps"][step].get(name) for other in others if step < len(other["steps"])]
        if len(mine) != len(value):
            comparison.see(f"{name} after step {step + 1}", math.inf, 1.0)
            continue
        spread = max((distance(other, value) for other in rest
                      if other is not None and len(other) == len(value)), default=0.0)
        first = reference["first"].get(name)
        size = norm(value)
        moved = size if first is None or len(first) != len(value) else distance(value, first)
        allowed = SPREAD_FACTOR * spread + MOVED_FLOOR * moved + SIZE_FLOOR * size
        comparison.see(f"{name} after step {step + 1}", distance(mine, value), allowed)


def compare_losses(reference: Dict[str, Any], found: Dict[str, Any],
                   others: Sequence[Dict[str, Any]], comparison: Comparison) -> None:
    counts = [len(record["losses"]) for record in (reference, found, *others)]
    if counts[0] != counts[1] and len(reference["steps"]) == len(found["steps"]):
        comparison.is_bit_equal = False
        comparison.problems.append(f"backward was called {counts[1]} times, not {counts[0]}")
    scale = 0.0
    for at in range(min(counts[0], counts[1], max(counts[2:], default=counts[0]))):
        value, mine = reference["losses"][at], found["losses"][at]
        scale = max(scale, abs(value)) if math.isfinite(value) else scale
        if value == mine or (math.isnan(value) and math.isnan(mine)):
            continue
        spread = max((abs(other["losses"][at] - value) for other in others
                      if at < len(other["losses"])), default=0.0)
        # A loss near zero is a difference of larger numbers.
        allowed = SPREAD_FACTOR * spread + MOVED_FLOOR * abs(value) + SIZE_FLOOR * scale
        comparison.see(f"loss {at + 1}", abs(mine - value), allowed)


def compare_ends(reference: Dict[str, Any], found: Dict[str, Any],
                 comparison: Comparison) -> None:
    """Runs that came as far ended alike, with the same random numbers before them."""
    is_late = "late" in (reference["end"], found["end"])
    if is_late:
        return
    if len(reference["steps"]) != len(found["steps"]):
        comparison.is_bit_equal = False
        comparison.problems.append(
            f"the script took {len(found['steps'])} steps, not {len(reference['steps'])}")
    if reference["code"] != found["code"]:
        comparison.problems.append(f"the script ended with exit code {found['code']}, "
                                   f"not {reference['code']}")
    for name in sorted(set(reference["random"]) & set(found["random"])):
        if reference["random"][name] != found["random"][name]:
            comparison.is_bit_equal = False
            comparison.problems.append(f"the random numbers of {name} went on differently")
