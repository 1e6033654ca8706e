"""How a program is told that it cannot be trained elastically: clearly, and before it is wrong."""

import os
import sys
from typing import Any, Dict

EXIT_REFUSED = 65


class Refused(SystemExit):
    """Ends the worker. A `SystemExit`, so that `except Exception` in a script does not hide it."""

    def __init__(self, reason: str) -> None:
        super().__init__(EXIT_REFUSED)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


def address() -> Dict[str, Any]:
    """How to reach the conductor of this job; an empty socket if there is none."""
    return {
        "socket": os.environ.get("RUBATO_CONDUCTOR", ""),
        "worker": int(os.environ.get("RUBATO_WORKER", "0")),
        "token": int(os.environ.get("RUBATO_TOKEN", "0")),
        "host": os.environ.get("RUBATO_HOST", ""),
    }


def worker_options(**given: Any) -> Dict[str, Any]:
    """What a worker of the core must be told."""
    options = {
        "parameter_bytes": 0,
        "floats": 1,
        "slots": 1,
        "samples": 1,
        "batch": 1,
        "drop_last": False,
        "shards": 0,
        "measures_noise": False,
        "measured_floats": 2**64 - 1,
        "check_every": 0,
        **address(),
    }
    return {**options, **given}


def refuse(reason: str, worker: Any = None) -> "Refused":
    """Tells the conductor, if there is one, and returns what must be raised."""
    print(f"rubato: {reason}", file=sys.stderr, flush=True)
    if worker is None and address()["socket"]:
        from rubato import _core

        # Nothing is known of the model yet, but the conductor listens to workers only.
        worker = _core.Worker(worker_options(), lambda: b"", lambda state: None)
    if worker is not None:
        worker.refuse(reason)
    refused = Refused(reason)
    refused.worker = worker  # Its line must stay open until the process ends.
    return refused
