"""Later batches are tried as the first was.

Whether samples of a batch look at each other may depend on their values: a branch that is taken now
and then, a list that grows. So a root's verdict is checked again on some of the batches that come
later, less and less often, in a child that runs beside the training.
"""

from typing import Any, Optional, Sequence

from torch import nn
from torch.utils._pytree import TreeSpec

from rubato.split import child
from rubato.split.part import Settings
from rubato.split.rehearsal import Verdict, rehearse_in_background

FACTOR = 4  # So many times as many calls before the next audit of a verdict.


class Audit:
    """Of one root; one verdict at a time."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.verdict: Optional[Verdict] = None  # That is being tried.
        self.child: Any = None
        self.step = 0  # Of the batch that it is tried on.

    def after_call(self, verdict: Verdict, module: nn.Module, spec: TreeSpec,
                   leaves: Sequence[Any]) -> None:
        """After a shared call with these arguments."""
        controller = self.root.controller
        verdict.calls += 1
        is_due = verdict.calls >= verdict.audit_at and not controller.group.is_by_value
        if is_due and self.child is None:
            verdict.audit_at *= FACTOR
            self.verdict, self.step = verdict, controller.steps.count
            waits = controller.is_deterministic or controller.always_shares
            self.child = rehearse_in_background(controller, module, spec, leaves, Settings(),
                                                is_waited_for=waits)
            if waits:
                self.collect(waits=True)

    def collect(self, waits: bool = False) -> None:
        """Takes the result of the child, if there is one."""
        if self.child is None:
            return
        found = self.child.result(waits)
        if found is child.RUNNING:
            return
        verdict, self.child, self.verdict = self.verdict, None, None
        if found is not None and found.reason is not None and found.is_final:
            verdict.reason = found.reason
            self.root.tell_unsplit(
                f"{found.reason} (found on the batch of step {self.step + 1})")
            self.root.controller.notices.tell(
                f"audit {self.root.name}",
                f"WARNING: calls of {self.root.name} were split until now, since the first batches "
                "did not show that they cannot be; results of this run may be wrong: run it with "
                "one worker")
