"""The clocks that a script reads.

What a script makes of the time it reads is part of its state: how long an epoch took, the name of a
folder. So what its own code reads from the module `time` is written down with the values of tensors
(reads.py), and a script that is replayed reads the same times again.
"""

import functools
import sys
import time
from typing import Any, Dict

from rubato.split.survival.object_graph import is_script_name

CLOCKS = ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns",
          "process_time", "process_time_ns", "localtime", "gmtime", "strftime", "ctime", "asctime")


def install(recorder: Any) -> None:
    """Libraries that were loaded before have the clocks themselves."""
    known: Dict[str, bool] = {}

    def is_script(name: str) -> bool:
        if name not in known:
            known[name] = is_script_name(name)
        return known[name]

    def patch(name: str) -> None:
        original = getattr(time, name)

        @functools.wraps(original)
        def clock(*args: Any) -> Any:
            if not recorder.is_watching() or recorder.is_sampling:
                return original(*args)
            if not is_script(sys._getframe(1).f_globals.get("__name__", "")):
                return original(*args)
            return recorder.read((f"time.{name}",), lambda: original(*args), True)

        setattr(time, name, clock)

    for name in CLOCKS:
        patch(name)
