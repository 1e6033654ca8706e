"""Whether sharing the calls of a root pays, by measurement.

Time per call, from one call with gradients to the next, is compared between blocks of shared and of
unshared calls, in turns, so that whatever else the machine does meets both. The faster way stays
until the number of workers changes, and is looked at again after a while.
"""

import statistics
import time
from typing import List, Optional

BLOCK_CALLS = 8
SKIPPED_CALLS = 2  # At the beginning of a block: caches and replicas are not warm.
ROUNDS = 2  # Blocks of each way before a choice.
AGAIN_AFTER_CALLS = 2000
MARGIN = 1.02  # Sharing must not lose more than noise explains.


class Trial:
    """Of one root with one number of workers."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.restart()

    def restart(self) -> None:
        self.calls = 0
        self.times: List[List[float]] = [[], []]  # Shared, unshared.
        self.last: Optional[float] = None
        self.choice: Optional[bool] = None

    def shares(self) -> bool:
        """Whether to share the call that begins now."""
        now = time.perf_counter()
        if self.choice is not None:
            self.calls += 1
            if self.calls > AGAIN_AFTER_CALLS:
                self.restart()
            return self.choice if self.choice is not None else True
        block, within = divmod(self.calls, BLOCK_CALLS)
        if self.last is not None and within > SKIPPED_CALLS:
            self.times[block % 2].append(now - self.last)
        self.last = now
        if block == 2 * ROUNDS:
            self.choose()
            return bool(self.choice)
        self.calls += 1
        return block % 2 == 0

    def choose(self) -> None:
        shared, unshared = (statistics.median(times) for times in self.times)
        self.choice = shared <= unshared * MARGIN
        self.shared_seconds, self.unshared_seconds = shared, unshared
        self.calls = 0
