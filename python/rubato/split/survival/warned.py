"""A warning appears once, also when the script starts again.

Python shows most warnings once in a process. A start that is replayed does not come by the models
that caused some of them, and would show those again after the replay.
"""

import functools
import warnings
from typing import Any, List, Set, Tuple

from rubato.split.survival.recorder import OFF, REPLAY, Recorder

Key = Tuple[str, str, str, int]  # Category, text, file and line.
SHOWN_ONCE = ("default", "module", "once")
KEYS_MAX = 1024  # Of warnings; beyond, one may appear twice.


def key_of(message: Any) -> Key:
    return (message.category.__name__, str(message.message), message.filename, message.lineno)


def is_shown_once(message: Any) -> bool:
    """By the first filter that matches, as far as can be told without the name of its module."""
    for action, text, category, _, line in warnings.filters:
        if (issubclass(message.category, category) and line in (0, message.lineno)
                and (text is None or text.match(str(message.message)))):
            return action in SHOWN_ONCE
    return True


class Warned:
    """What a leader has shown, and what an earlier start of the script has shown in its place."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.shown: Set[Key] = set()
        self.before: Set[Key] = set()

    def install(self) -> None:
        original = warnings._showwarnmsg_impl  # type: ignore[attr-defined]

        @functools.wraps(original)
        def show(message: Any) -> None:
            if not self.is_known(message):
                original(message)

        warnings._showwarnmsg_impl = show  # type: ignore[attr-defined]

    def is_known(self, message: Any) -> bool:
        """Whether it has been shown before; notes that it has now."""
        if self.recorder.mode == OFF or not self.recorder.controller.is_leader:
            return False
        key = key_of(message)
        is_repeated = (self.recorder.mode != REPLAY and key in self.before
                       and key not in self.shown and is_shown_once(message))
        if len(self.shown) < KEYS_MAX:
            self.shown.add(key)
        return is_repeated

    def saved(self) -> List[Key]:
        return sorted(self.shown | self.before)[:KEYS_MAX]

    def restore(self, saved: List[Key]) -> None:
        self.before = set(saved)
