"""The end of a script whose `--until` rule has come true: between two steps, with its state saved.

The supervisor watches the metrics and asks the script to leave for the reason `until`. The next
boundary between two steps then writes the state of all root modules and optimizers to `until.pt`
in the job's directory and raises SystemExit(0), so that `finally` blocks, context managers and
functions registered with atexit run as at any other end.
"""

import os
from pathlib import Path
from typing import Any, Dict

REASON = "until"
FILE_NAME = "until.pt"
STEPS_OF_GRACE = 1000  # For a script that asks `rubato.should_stop()` and could end by itself.


class EarlyEnd:
    """Of the leader's script."""

    def __init__(self, controller: Any) -> None:
        self.controller = controller
        self.asks = False  # The script looks after its end itself.
        self.is_saved = False
        self.first_step = 0  # Committed when the end was first seen.

    def is_wanted(self) -> bool:
        link = self.controller.link
        return link is not None and link.exit_reason() == REASON

    def should_stop(self) -> bool:
        self.asks = True
        if not self.is_wanted():
            return False
        self.save()
        return True

    def at_boundary(self) -> None:
        if not self.is_wanted():
            return
        self.save()
        if self.asks and self.controller.steps.count - self.first_step < STEPS_OF_GRACE:
            return
        raise SystemExit(0)

    def save(self) -> None:
        """Once; a state that cannot be written does not keep the script from ending."""
        if self.is_saved:
            return
        self.is_saved = True
        self.first_step = self.controller.steps.count
        directory = os.environ.get("RUBATO_JOB_DIRECTORY")
        if not directory:
            return
        try:
            write_state(Path(directory) / FILE_NAME, state_of(self.controller))
        except Exception as error:  # Also of objects of the script that cannot be pickled.
            self.controller.notices.tell("until-state",
                                         f"{FILE_NAME} could not be written: {error}")


def state_of(controller: Any) -> Dict[str, Any]:
    """State dictionaries of what the script trains, by name and in the order of making."""
    models: Dict[str, Any] = {}
    for root in controller.roots.values():
        module = root.module()
        if module is not None and any(True for _ in module.parameters()):
            name = root.name if root.name not in models else f"{root.name}_{len(models)}"
            models[name] = module.state_dict()
    numbers = dict(controller.steps.numbers)
    optimizers = [each.state_dict() for each in sorted(numbers, key=lambda each: numbers[each])]
    return {"step": controller.steps.count, "models": models, "optimizers": optimizers}


def write_state(path: Path, state: Dict[str, Any]) -> None:
    """The file is there as a whole or not at all."""
    import torch

    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with open(part, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
