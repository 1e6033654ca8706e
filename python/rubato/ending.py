"""How a worker ends: having finished with the others, or so that its failure can be seen.

The conductor takes a line that is closed for a worker that is lost. So a worker that has failed
keeps its line until the process is gone, and its exit code tells what happened.
"""

import atexit
import ctypes
import sys
from typing import Any, Callable, List

WATCHED: List[Any] = []
FAILURES: List[Any] = []


def watch(session: Any) -> None:
    """Sees a session to its end when the process ends."""
    if not WATCHED:
        atexit.register(end_all)
        sys.excepthook = noting(sys.excepthook)
    WATCHED.append(session)


def noting(hook: Callable[..., None]) -> Callable[..., None]:
    def excepthook(kind: Any, value: Any, trace: Any) -> None:
        FAILURES.append(kind)
        hook(kind, value, trace)

    return excepthook


def end_all() -> None:
    for session in WATCHED:
        if FAILURES or session.is_refused:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(session.worker))  # Never closed.
            continue
        if not session.is_over:
            session.finish()
        session.worker.close()
