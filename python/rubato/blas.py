"""A self-test of matrix products: with a wrong BLAS everything works, many times slower.

`rubato train` has set OPENBLAS_CORETYPE for its workers already, unless the user did.
"""

import sys
import time
from typing import Callable

import torch

from rubato import _core

SIDE = 256
ROUNDS_MAX = 8
SECONDS_MAX = 0.02  # Another round is begun before that; one takes 0.011 s with the reference BLAS.


def product() -> Callable[[], None]:
    left, right = torch.ones(SIDE, SIDE), torch.ones(SIDE, SIDE)

    def multiply() -> None:
        with torch.no_grad():
            torch.mm(left, right)

    return multiply


def matrix_gigaflops(
    multiply: Callable[[], None], clock: Callable[[], float] = time.thread_time
) -> float:
    """The best of a few; of processor time, since others may be using the processor too."""
    began = clock()
    best = 0.0
    for _ in range(ROUNDS_MAX):
        before = clock()
        multiply()
        after = clock()
        best = max(best, 2 * SIDE**3 / max(after - before, 1e-9) / 1e9)
        if after - began >= SECONDS_MAX:
            break
    return best


def cpuinfo() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def warn_if_slow() -> None:
    """To be called by one worker of a job."""
    warning = _core.slow_matrix_warning(matrix_gigaflops(product()), cpuinfo())
    if warning:
        print(f"rubato: {warning}", file=sys.stderr, flush=True)
