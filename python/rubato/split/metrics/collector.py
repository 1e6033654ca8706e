"""Numbers on their way to the supervisor, bounded in number and in rate."""

import math
import threading
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set, Tuple

NAME_BYTES_MAX = 128
NAMES_MAX = 256
POINTS_MAX = 64  # Of one name in one message; between two of them the rest is thinned.
SECONDS_BETWEEN = 0.25
STEP_MAX = 2**62
DEPTH_MAX = 4  # Of dictionaries.

Point = Tuple[str, float, int]


def numbers_of(values: Mapping[Any, Any], prefix: str = "",
               depth: int = 0) -> Iterator[Tuple[str, Optional[float]]]:
    """Names and numbers; None for a value that is no number."""
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and depth < DEPTH_MAX:
            yield from numbers_of(value, name + "/", depth + 1)
        else:
            yield name, number_of(value)


def number_of(value: Any) -> Optional[float]:
    """Of a number, a NumPy scalar or a tensor with one element."""
    if isinstance(value, (str, bytes)):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return None


def clean_name(name: str) -> str:
    """White space becomes `_`; control characters are left out; what is too long is cut."""
    words = name.replace(",", " ").split()
    kept = "_".join("".join(each for each in word if each.isprintable()) for word in words)
    data = kept.encode("utf-8", "ignore")[:NAME_BYTES_MAX]
    return data.decode("utf-8", "ignore").strip("_")


def thinned(points: List[Tuple[int, float]]) -> List[Tuple[int, float]]:
    """Every second, and always the last, the lowest and the highest."""
    numbers = [i for i, (_, value) in enumerate(points) if not math.isnan(value)]
    needed = {0, len(points) - 1}
    if numbers:
        needed.add(min(numbers, key=lambda i: points[i][1]))
        needed.add(max(numbers, key=lambda i: points[i][1]))
    return [point for i, point in enumerate(points) if i % 2 == 0 or i in needed]


class Collector:
    """Takes numbers from any thread of the leader; sends them from its main one."""

    def __init__(self, controller: Any) -> None:
        self.controller = controller
        self.lock = threading.Lock()
        self.main = threading.get_ident()
        self.pending: Dict[str, List[Tuple[int, float]]] = {}
        self.names: Set[str] = set()  # Of all metrics so far.
        self.sent_at = 0.0

    def add(self, name: str, value: Optional[float], step: Any = None) -> None:
        name = clean_name(name)
        if not name:
            return
        if value is None:
            self.tell(f"metric-{name}", f"the metric {name} is no number and is left out")
            return
        with self.lock:
            is_taken = name in self.names or len(self.names) < NAMES_MAX
            if is_taken:
                self.names.add(name)
                points = self.pending.setdefault(name, [])
                points.append((self.step_of(step), value if math.isfinite(value) else math.nan))
                if len(points) > POINTS_MAX:
                    self.pending[name] = thinned(points)
        if not is_taken:
            self.tell("metrics-names", f"more than {NAMES_MAX} names of metrics; {name} and others "
                      "that come later are left out")

    def is_known(self, name: str) -> bool:
        """True for a metric that the script has logged already."""
        return clean_name(name) in self.names

    def step_of(self, step: Any) -> int:
        """The script's own number, or how many steps it has done."""
        number = None if step is None else number_of(step)
        if number is None or not math.isfinite(number):
            return self.controller.steps.count
        return min(max(0, int(number)), STEP_MAX)

    def tell(self, key: str, sentence: str) -> None:
        self.controller.notices.tell(key, sentence)

    def flush(self, *, is_last: bool = False) -> None:
        """Sends what there is, unless something was sent just now."""
        if threading.get_ident() != self.main or not self.pending:
            return
        now = time.monotonic()
        if not is_last and now - self.sent_at < SECONDS_BETWEEN:
            return
        self.sent_at = now
        with self.lock:
            pending, self.pending = self.pending, {}
        points: List[Point] = [(name, value, step)
                               for name, each in pending.items() for step, value in each]
        if self.controller.link is not None:
            self.controller.link.metrics(points)
