"""A median, and how far the rounds that it is of lie apart."""

from statistics import median
from typing import Dict, Sequence


def of_values(values: Sequence[float]) -> Dict[str, float]:
    return {"median": median(values), "min": min(values), "max": max(values), "count": len(values)}


def of_rounds(values: Sequence[float], rounds: int) -> Dict[str, float]:
    """Of the medians of as many consecutive groups of values."""
    size = len(values) // rounds
    return of_values([median(values[i * size : (i + 1) * size]) for i in range(rounds)])
