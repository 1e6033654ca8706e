"""A root module, and whether and how a call of it is shared."""

import time
import weakref
from typing import Any, Dict, List, Optional

import torch
from torch import nn
from torch.utils._pytree import TreeSpec, tree_flatten, tree_map

from rubato.split import memory
from rubato.split.audit import Audit
from rubato.split.call import PartFailed, SplitCall
from rubato.split.fingerprint import (Fingerprint, QuickCheck, Watched, is_same, meaning_of,
                                      plain_attributes, structure_of)
from rubato.split.fit import MemoryFit
from rubato.split.memory_limits import is_out_of_memory
from rubato.split.part import CallAborted, ReplicaLost, Settings
from rubato.split.randomness import draw_seed
from rubato.split.rehearsal import SINGLE, Verdict
from rubato.split.values_read import values_read
from rubato.split.worth import Trial

SHORT_SECONDS = 300e-6  # A forward below this is not worth sharing.
TIMED_CALLS = 2  # Before a root is shared: the first is often slower than all others.
VERDICTS_MAX = 64  # Kinds of calls of one root.
RENEWALS_MAX = 20  # Changes that need new replicas; beyond, the root is not shared.
REJUDGED_MAX = 20  # Changes that need new verdicts, likewise.
FAILURES_MAX = 3  # Calls in which a part failed and the whole did not.
ATTEMPTS_MAX = 3  # At a call whose replicas die.
SINGLE_CALLS_TOLD = 20  # Of single samples and nothing else, until the end.
VALUES_MAX = 8  # Values of plain arguments and attributes that are told apart.


class Root:
    """One module that the script calls."""

    def __init__(self, controller: Any, module: nn.Module) -> None:
        controller.roots_made += 1
        self.number = controller.roots_made
        self.controller = controller
        self.module = weakref.ref(module, lambda _, key=id(module): controller.forget_root(key))
        is_scripted = isinstance(module, torch.jit.RecursiveScriptModule)
        self.name = module.original_name if is_scripted else type(module).__name__
        self.has_parameters = any(True for _ in module.parameters())
        self.is_lazy = is_lazy(module)
        self.verdicts: Dict[Any, Verdict] = {}
        self.structure: List[Any] = []  # That the verdicts are on.
        self.meaning: Optional[List[Any]] = None  # Likewise.
        self.attributes: Any = ()  # Plain attributes as part of a signature.
        self.looks_same = False  # As at the last call.
        self.rejudged = 0  # How often verdicts have become worthless.
        self.values_seen: Dict[Any, int] = {}
        self.watched: List[Watched] = []
        self.quick: Optional[QuickCheck] = None
        self.quick_group: Any = None
        self.parameters: List[nn.Parameter] = []  # That are trained.
        # Replicas have one device each, whatever number it has here.
        self.cuda_device: Optional[torch.device] = None
        self.is_shared = False  # Its tensors lie in shared memory.
        self.seconds: Optional[float] = None  # Of its shortest unshared forward.
        self.timed = 0
        self.renewals = 0
        self.failures = 0
        self.trial: Optional[Trial] = None
        self.audit = Audit(self)
        self.fit = MemoryFit(self)
        self.split_calls = 0
        self.unsplit_calls = 0
        # Of these, those that there was nothing to share of: with one worker, of a single sample,
        # shared by the modules inside, and the first, whose time says whether it pays.
        self.untried_calls = 0
        self.single_calls = 0
        self.reasons: List[str] = []

    # How a call is made.

    def call(self, module: nn.Module, args: Any, kwargs: Any) -> Any:
        """As the script sees it."""
        controller = self.controller
        workers = controller.workers()
        if workers == 1 and controller.group.count:
            controller.resize_group(1)
        rows = self.fit.rows(module, args, kwargs, workers)
        if rows is None:
            try:
                return self.call_at_once(module, args, kwargs, workers)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error) or controller.depth:
                    raise
                rows = self.fit.rows_after_failure(module, args, kwargs, workers)
                if rows is None:
                    raise
        # Not before: the exception holds what did not fit.
        return self.call_in_pieces(module, args, kwargs, workers, rows)

    def call_at_once(self, module: nn.Module, args: Any, kwargs: Any, workers: int) -> Any:
        """Parts fit their workers' memory, or cannot be made smaller."""
        if not self.is_worth_trying(workers):
            if self.changes_too_often and workers > 1:
                return self.leave_to_children(module, args, kwargs)
            return self.whole(module, args, kwargs)
        self.audit.collect()
        self.look_at(module)
        leaves, spec = tree_flatten((args, kwargs))
        verdict = self.verdict(module, leaves, spec)
        if verdict.reason is not None:
            return self.leave_to_children(module, args, kwargs, verdict.reason == SINGLE)
        size = self.batch_size(verdict, leaves)
        if self.controller.is_deterministic and verdict.exchanges:
            self.tell_unsplit("batch normalisation and means over all parts are not the same bits "
                              "for every number of workers")
            return self.whole(module, args, kwargs)
        if size < 2 or not self.shares_now(workers):
            return self.whole(module, args, kwargs)
        return self.split(module, args, kwargs, verdict, leaves, spec, min(workers, size))

    def call_in_pieces(self, module: nn.Module, args: Any, kwargs: Any, workers: int,
                       rows: int) -> Any:
        """No worker can compute more rows than that at once."""
        controller = self.controller
        self.audit.collect()
        self.look_at(module)
        leaves, spec = tree_flatten((args, kwargs))
        verdict = self.verdict(module, leaves, spec)
        if verdict.reason is not None:
            self.fit.tell_undivided(verdict.reason)
            return self.leave_to_children(module, args, kwargs, verdict.reason == SINGLE)
        if verdict.normalises:
            self.fit.tell_undivided("batch normalisation in training needs all rows of the batch "
                                    "at once; more workers would have smaller parts")
            return self.call_at_once(module, args, kwargs, workers)
        size = self.batch_size(verdict, leaves)
        if size < 2:
            return self.whole(module, args, kwargs)
        needs_one = controller.is_deterministic and verdict.exchanges
        is_shared = (not needs_one and self.is_shareable(workers) and self.shares_now(workers))
        return self.split(module, args, kwargs, verdict, leaves, spec,
                          min(workers, size) if is_shared else 0, rows)

    def look_at(self, module: nn.Module) -> None:
        """Verdicts hold for the module as it was: plain attributes are part of a signature, and
        whatever else changes what forward does makes all of them worthless."""
        self.looks_same = self.quick is not None and self.quick.is_unchanged()
        if self.looks_same:
            return
        self.quick = None
        self.attributes = tuple([
            (name, value if isinstance(value, (bool, str, type(None))) or not isinstance(
                value, (int, float)) else self.value_kind((at, name), value))
            for at, (name, value) in enumerate(plain_attributes(module))])
        if self.verdicts and not self.has_same_meaning(module):
            self.forget_kinds()
            self.rejudged += 1
            self.meaning = None
            if self.rejudged > REJUDGED_MAX and not self.reasons:
                self.tell_unsplit("what its forward reads changes too often")

    def meaning_now(self, module: nn.Module) -> List[Any]:
        """Numbers that go on changing count along, and do not choose what forward does."""
        return meaning_of(module, self.watched, self.rejudged < VALUES_MAX)

    def has_same_meaning(self, module: nn.Module) -> bool:
        now = self.meaning_now(module)
        return (self.meaning is not None and len(now) == len(self.meaning)
                and all(map(is_same, now, self.meaning))
                and structure_of(module) == self.structure)

    def is_worth_trying(self, workers: int) -> bool:
        return self.timed >= TIMED_CALLS and self.is_shareable(workers)

    def is_shareable(self, workers: int) -> bool:
        if not self.controller.is_deterministic and (workers == 1 or self.is_short):
            return False
        return not self.changes_too_often and self.failures < FAILURES_MAX

    @property
    def changes_too_often(self) -> bool:
        return self.renewals > RENEWALS_MAX or self.rejudged > REJUDGED_MAX

    @property
    def is_short(self) -> bool:
        return (self.seconds is not None and self.seconds < SHORT_SECONDS
                and not self.controller.always_shares)

    def whole(self, module: nn.Module, args: Any, kwargs: Any) -> Any:
        """Unshared, together with the modules that it calls."""
        controller = self.controller
        self.count_unsplit()
        began = time.perf_counter()
        controller.depth += 1
        try:
            return controller.call_module(module, *args, **kwargs)
        finally:
            controller.depth -= 1
            took = time.perf_counter() - began
            self.timed += 1
            self.seconds = took if self.seconds is None else min(self.seconds, took)

    def leave_to_children(self, module: nn.Module, args: Any, kwargs: Any,
                          is_single: bool = False) -> Any:
        """Unshared; the modules that it calls are tried."""
        controller = self.controller
        shared = controller.calls
        controller.left_to_children += 1
        try:
            result = controller.call_module(module, *args, **kwargs)
        finally:
            controller.left_to_children -= 1
        self.count_unsplit(is_single or controller.calls > shared)
        self.single_calls += is_single and not controller.left_to_children
        return result

    def count_unsplit(self, has_nothing_to_share: bool = False) -> None:
        self.unsplit_calls += 1
        self.untried_calls += (has_nothing_to_share or self.controller.target == 1
                               or self.timed < TIMED_CALLS)

    def shares_now(self, workers: int) -> bool:
        controller = self.controller
        if not torch.is_grad_enabled() or controller.is_deterministic or controller.always_shares:
            return True
        if self.trial is None or self.trial.workers != workers:
            self.trial = Trial(workers)
        before = self.trial.choice
        shares = self.trial.shares(self.audit.child is not None)
        if before is None and self.trial.choice is False:
            self.tell_unsplit("sharing it is slower than not sharing it "
                              f"({self.trial.shared_seconds * 1e3:.1f} ms a call instead of "
                              f"{self.trial.unshared_seconds * 1e3:.1f} ms)")
        return shares

    def split(self, module: nn.Module, args: Any, kwargs: Any, verdict: Verdict,
              leaves: List[Any], spec: TreeSpec, workers: int, rows: Optional[int] = None) -> Any:
        """By so many workers, at most so many rows at once; no workers: by the leader as it is."""
        if torch.is_inference_mode_enabled():
            # Messages are made of ordinary tensors; the script gets what the mode makes.
            with torch.inference_mode(False), torch.no_grad():
                result = self.split(module, args, kwargs, verdict, leaves, spec, workers, rows)
            return tree_map(as_inference_tensor, result)
        controller = self.controller
        seed = draw_seed(device_of(module)) if verdict.is_random else None
        size = self.batch_size(verdict, leaves)
        attempts = ATTEMPTS_MAX
        while attempts > 0:
            changes = self.ready(module, workers) if workers else self.ready_alone(module)
            if changes is None:
                if rows is None or not workers:
                    return self.whole(module, args, kwargs)
                workers = 0
                continue
            if not self.verdicts:  # Hooks have come since: the verdict may be another one.
                return self.call(module, args, kwargs)
            sizes = controller.part_sizes(size) if workers else [size]
            call = SplitCall(controller, self, verdict, spec, leaves, sizes, seed, rows,
                             is_alone=not workers)
            try:
                why = controller.group.verify(call, changes) if workers else None
                if why is not None:
                    call.forget()
                    return self.refused(module, args, kwargs, why)
                call.forward(changes)
                self.split_calls += 1
                self.note_pieces(call)
                self.audit.after_call(verdict, module, spec, self.fit.rehearsed(leaves))
                return call.answer()
            except (ReplicaLost, CallAborted, PartFailed, RuntimeError, ValueError,
                    MemoryError) as caught:
                error: Exception = caught
                error.__traceback__ = None  # It holds what did not fit.
            call.forget()
            has_run_out = call.has_run_out(error)
            is_lost = bool(workers) and isinstance(error, (ReplicaLost, CallAborted))
            if is_lost:
                attempts -= not has_run_out
                controller.lose_replicas("forward")
            elif workers:
                controller.group.reset()
            if has_run_out and self.fit.can_shrink(call.rows_at_once, verdict):
                rows = self.fit.shrink(call.rows_at_once, verdict)
            elif not is_lost:
                return self.after_failure(module, args, kwargs, error)
        return self.whole(module, args, kwargs)

    def ready_alone(self, module: nn.Module) -> List[Any]:
        """The leader needs nobody who knows the module as it is."""
        self.look_up_parameters(module)
        return []

    def look_up_parameters(self, module: nn.Module) -> None:
        every = list(module.parameters())
        self.parameters = [p for p in every if p.requires_grad]
        self.cuda_device = next((p.device for p in every if p.is_cuda), None)

    def forget_kinds(self) -> None:
        """What was known of the module was on another one, so to speak."""
        self.verdicts.clear()
        self.fit.forget_kinds()

    def note_pieces(self, call: SplitCall) -> None:
        plans = [plan for plan in call.plans if plan is not None]
        if not plans:
            self.controller.memory_use.forget(self.number)
            return
        by_owner = [[size for k in call.parts_of(owner) if call.plans[k] is not None
                     for size in call.plans[k].sizes] for owner in set(call.owners)]
        self.fit.note(sum(call.sizes), 1 + len(call.replicas), max(by_owner, key=len))

    def refused(self, module: nn.Module, args: Any, kwargs: Any, why: str) -> Any:
        self.tell_unsplit(why)
        self.failures = FAILURES_MAX
        self.controller.group.reset()
        return self.whole(module, args, kwargs)

    def after_failure(self, module: nn.Module, args: Any, kwargs: Any, error: Exception) -> Any:
        """The whole raises what the user should see; if it does not, parts are not to blame on
        him."""
        result = self.whole(module, args, kwargs)
        self.failures += 1
        if self.failures == FAILURES_MAX:
            lines = str(error).strip().splitlines()
            self.tell_unsplit(f"parts of it failed where the whole did not ({lines[-1][:120]})"
                              if lines else "parts of it failed where the whole did not")
        return result

    # What is known of a kind of call.

    def verdict(self, module: nn.Module, leaves: List[Any], spec: TreeSpec) -> Verdict:
        key = self.signature(module, leaves, spec)
        found = self.verdicts.get(key)
        if found is not None:
            return found
        if len(self.verdicts) >= VERDICTS_MAX:
            return Verdict("it is called in too many ways")
        self.structure = structure_of(module)
        with torch.inference_mode(False), torch.set_grad_enabled(torch.is_grad_enabled()):
            found = self.controller.group.rehearse(module, spec, self.fit.rehearsed(leaves),
                                                   Settings())
        self.watch(module, found)
        self.meaning = self.meaning_now(module)
        if found.is_final:
            self.verdicts[key] = found
        if found.reason not in (None, SINGLE) and found.is_final:
            self.tell_unsplit(found.reason)
        return found

    def signature(self, module: nn.Module, leaves: List[Any], spec: TreeSpec) -> Any:
        kinds: List[Any] = []
        is_single: Optional[bool] = None  # A single sample says nothing about batches.
        for at, leaf in enumerate(leaves):
            if isinstance(leaf, torch.Tensor):
                if is_single is None:
                    is_single = leaf.dim() > 0 and leaf.shape[0] == 1
                kinds.append((leaf.dtype, leaf.dim(), leaf.requires_grad, leaf.device.type))
            elif isinstance(leaf, (bool, str, type(None))):
                kinds.append(leaf)
            elif isinstance(leaf, (int, float)):
                kinds.append(self.value_kind(at, leaf))
            else:
                kinds.append(type(leaf))
        settings = Settings()
        autocast = (settings.autocast, settings.autocast_device)
        return (settings.grad, module.training, str(spec), autocast, is_single, tuple(kinds),
                self.attributes)

    def value_kind(self, argument: Any, value: Any) -> Any:
        """Numbers among arguments and attributes may choose what forward does; those that count
        along, such as a step, do not."""
        seen = self.values_seen.setdefault(argument, set())
        if len(seen) < VALUES_MAX:
            seen.add(value)
        return value if value in seen and len(seen) < VALUES_MAX else type(value)

    def watch(self, module: nn.Module, verdict: Verdict) -> None:
        """What forward was seen to read besides the module must not change unnoticed."""
        known = {(id(entry.names), entry.name) for entry in self.watched}
        for entry in values_read(module, verdict.reads):
            if (id(entry.names), entry.name) not in known:
                known.add((id(entry.names), entry.name))
                self.watched.append(entry)
                self.quick = None

    @staticmethod
    def batch_size(verdict: Verdict, leaves: List[Any]) -> int:
        """Zero if the arguments do not agree about it."""
        sizes = {leaves[i].shape[d] for i, d in verdict.dimensions.items() if d is not None}
        return sizes.pop() if len(sizes) == 1 else 0

    # Replicas that know the module as it is.

    def ready(self, module: nn.Module, workers: int) -> Optional[List[Any]]:
        """Attributes to set in the replicas; nothing if there can be no replicas."""
        group = self.controller.group
        is_quick = (self.looks_same and self.quick is not None
                    and self.quick_group == group.pids() and group.count == workers - 1)
        self.looks_same = False  # Until somebody has looked again.
        if is_quick:
            return []
        self.quick = None
        changes = self.known_changes(module)
        if changes is None:
            group.renew(self.number)
            changes = []
        if not self.is_shared or not group.count:
            why = self.share(module)
            if why:
                self.tell_unsplit(why)
                self.failures = FAILURES_MAX
                return None
        if group.count != workers - 1:
            self.controller.resize_group(workers)
        why = group.introduce(self, module)
        if why is not None:
            self.tell_unsplit(why)
            self.failures = FAILURES_MAX
            return None
        if changes:
            group.note_changes(self.number, module, changes)
            group.prints[self.number] = Fingerprint(module, self.watched)
        self.look_up_parameters(module)
        self.quick = QuickCheck(module, self.watched)
        self.quick_group = group.pids()
        return changes

    def known_changes(self, module: nn.Module) -> Optional[List[Any]]:
        """Nothing if the replicas must be made anew."""
        group = self.controller.group
        if not group.count:
            return []
        known = group.prints.get(self.number)
        if known is None:
            return None
        if known.watched != self.watched:
            return None
        changes = known.changes(module)
        if changes is None:
            self.renewals += 1
            self.is_shared = False
            if self.renewals == RENEWALS_MAX + 1:
                self.tell_unsplit("it changes too often in ways that need new replicas")
        return changes

    def share(self, module: nn.Module) -> str:
        try:
            self.controller.prepare()
        except (MemoryError, RuntimeError, OSError) as error:
            return f"there is no memory that replicas could share ({str(error)[:120]})"
        why = "" if self.controller.group.is_by_value else memory.share(module)
        self.is_shared = not why
        return why

    def trained_parameters(self) -> List[nn.Parameter]:
        return self.parameters

    def summary(self) -> Dict[str, Any]:
        return {"name": self.name, "split": self.split_calls, "unsplit": self.unsplit_calls,
                "untried": self.untried_calls, "reasons": self.reasons,
                "memory": self.fit.summary()}

    def tell_at_end(self) -> None:
        """What is no news before: larger batches may come."""
        if self.single_calls >= SINGLE_CALLS_TOLD and self.split_calls == 0:
            self.tell_unsplit(SINGLE)

    def tell_unsplit(self, reason: str) -> None:
        if reason not in self.reasons:
            self.reasons.append(reason)
            self.controller.notices.tell(
                f"unsplit {self.name} {reason}",
                f"calls of {self.name} are not split: {reason}")


def as_inference_tensor(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) and not value.is_inference() else value


def device_of(module: nn.Module) -> torch.device:
    return next((p.device for p in module.parameters()), torch.device("cpu"))


def is_lazy(module: nn.Module) -> bool:
    """Whether it has layers that learn their sizes at the next call."""
    return any(map(nn.parameter.is_lazy, module.parameters()))
