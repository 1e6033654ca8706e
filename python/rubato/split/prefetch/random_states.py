"""The generators that every script can see: torch's, Python's and NumPy's.

Comparing them around every few rows must cost microseconds, so Python's and NumPy's states are
copied from where they lie in memory. The second of a pair of normal numbers, which NumPy keeps for
later, is not among them; a rehearsal compares that too.
"""

from __future__ import annotations

import ctypes
import random

import numpy
import torch

# struct RandomObject of CPython: the object's head, then an int and 624 words.
_HEAD_BYTES = object.__basicsize__
_PYTHON_STATE_BYTES = 4 + 624 * 4
# struct s_mt19937_state of NumPy: 624 words and an int.
_NUMPY_STATE_BYTES = 624 * 4 + 4


def _python_state(generator: random.Random) -> bytes:
    return ctypes.string_at(id(generator) + _HEAD_BYTES, _PYTHON_STATE_BYTES)


def _is_layout_known() -> bool:
    """True if the bytes are those of the state: they move with it and come back with it."""
    generator = random.Random(5)
    before, state = _python_state(generator), generator.getstate()
    generator.random()
    has_moved = _python_state(generator) != before
    generator.setstate(state)
    return has_moved and _python_state(generator) == before


_LAYOUT_IS_KNOWN = _is_layout_known()


class RandomStates:
    """The states at one moment."""

    def __init__(self) -> None:
        self._torch = torch.get_rng_state()
        self._python = self._read_python()
        self._numpy = self._read_numpy()

    @staticmethod
    def _read_python() -> object:
        return _python_state(random._inst) if _LAYOUT_IS_KNOWN else random.getstate()

    @staticmethod
    def _read_numpy() -> object:
        generator = numpy.random.mtrand._rand._bit_generator
        if type(generator).__name__ != "MT19937":
            return numpy.random.get_state(legacy=False)
        return ctypes.string_at(generator.ctypes.state_address, _NUMPY_STATE_BYTES)

    def are_current(self) -> bool:
        """True if nothing was drawn since."""
        now = torch.get_rng_state()
        return (
            ctypes.string_at(now.data_ptr(), now.numel())
            == ctypes.string_at(self._torch.data_ptr(), self._torch.numel())
            and self._read_python() == self._python
            and self._read_numpy() == self._numpy
        )

    def restore(self) -> None:
        """Puts the states back where they were."""
        torch.set_rng_state(self._torch)
        if isinstance(self._python, bytes):
            ctypes.memmove(id(random._inst) + _HEAD_BYTES, self._python, _PYTHON_STATE_BYTES)
        else:
            random.setstate(self._python)
        generator = numpy.random.mtrand._rand._bit_generator
        if isinstance(self._numpy, bytes):
            ctypes.memmove(generator.ctypes.state_address, self._numpy, _NUMPY_STATE_BYTES)
        else:
            numpy.random.set_state(self._numpy)
