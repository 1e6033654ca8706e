"""Whether sharing the calls of a root pays, by measurement.

Time per call, from one call with gradients to the next, is compared between blocks of shared and of
unshared calls, in turns, so that whatever else the machine does meets both. The faster way stays
until the number of workers changes, and is looked at again after a while. The first blocks do not
count: new replicas get their memory page by page. Nor do calls beside which something else of ours
is computed.
"""

import time
from typing import Callable, List, Optional

BLOCK_CALLS = 8
SKIPPED_CALLS = 2  # At the beginning of a block: caches and replicas are not warm.
WARM_UP_ROUNDS = 1  # Blocks of each way that do not count.
ROUNDS = 3  # Blocks of each way before a choice, with those.
AGAIN_AFTER_CALLS = 2000
AGAIN_AFTER_CALLS_UNSHARED = 100  # The first time; each time twice as many, up to the others.
MARGIN = 1.02  # Sharing must not lose more than noise explains.


class Trial:
    """Of one root with one number of workers."""

    def __init__(self, workers: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self.workers = workers
        self.clock = clock
        self.again_unshared = AGAIN_AFTER_CALLS_UNSHARED
        self.restart()

    def restart(self) -> None:
        self.calls = 0
        self.times: List[List[float]] = [[], []]  # Shared, unshared.
        self.last: Optional[float] = None
        self.choice: Optional[bool] = None

    def shares(self, is_disturbed: bool) -> bool:
        """Whether to share the call that begins now. Disturbed: since the last one there was other
        work for the processors."""
        now = self.clock()
        if self.choice is not None:
            self.calls += 1
            if self.calls > (AGAIN_AFTER_CALLS if self.choice else self.again_unshared):
                self.restart()
            return self.choice if self.choice is not None else True
        block, within = divmod(self.calls, BLOCK_CALLS)
        if is_disturbed:
            self.last = None
            return block % 2 == 0
        if (self.last is not None and within > SKIPPED_CALLS and block >= 2 * WARM_UP_ROUNDS):
            self.times[block % 2].append(now - self.last)
        self.last = now
        if block == 2 * ROUNDS and not all(self.times):
            self.restart()  # Disturbed too often to tell.
            return True
        if block == 2 * ROUNDS:
            self.choose()
            return bool(self.choice)
        self.calls += 1
        return block % 2 == 0

    def choose(self) -> None:
        # What disturbs us makes calls longer, never shorter: a quarter of them was left alone.
        shared, unshared = (sorted(times)[len(times) // 4] for times in self.times)
        self.choice = shared <= unshared * MARGIN
        self.shared_seconds, self.unshared_seconds = shared, unshared
        self.calls = 0
        if not self.choice:
            self.again_unshared = min(2 * self.again_unshared, AGAIN_AFTER_CALLS)
