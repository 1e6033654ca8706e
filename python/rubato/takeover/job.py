"""What becomes of an unmodified script's training loop.

The script draws a batch and calls `optimizer.step()`; that makes its loader the training loader.
This first batch was only a rehearsal: the step does nothing, and the worker joins the job. From
then on the loader gives out this worker's part of every batch, and `optimizer.step()` adds up
the gradients of all workers before it applies them. A step is committed when the next batch is
drawn, so that everything the script does after `optimizer.step()` belongs to it.

A step is void, and changes nothing, in rehearsal, while a newcomer runs through epochs that are
done already, and when the group broke: then the loader gives out the same step again.
"""

import copy
import os
import sys
import weakref
from typing import Any, Callable, Dict, List, Optional

import torch

from rubato.flat import FlatModel, named_buffers
from rubato.losses import SUMMED_LOSS, LossWatch
from rubato.refusal import refuse
from rubato.session import Extras, JobOptions, Session, trained_parameters
from rubato.takeover import checks, modules, variables

VOID, SHARD, SPARE = "void", "shard", "spare"


class LoaderIterator:
    """What a script gets for `iter(loader)`."""

    def __init__(self, job: "Job", loader: Any, iterate: Callable[[Any], Any]) -> None:
        self.job = job
        self.loader = loader
        self.iterate = iterate
        self.own: Any = None
        self.given = 0
        self.is_training = torch.is_grad_enabled()
        self.has_trained = False
        self.had_void = False

    def __iter__(self) -> "LoaderIterator":
        return self

    def __len__(self) -> int:
        return len(self.loader)

    def __next__(self) -> Any:
        return self.job.next_batch(self)

    def next_own(self) -> Any:
        """What the loader would have given without us."""
        if self.own is None:
            self.own = self.iterate(self.loader)
        batch = next(self.own)
        self.given += 1
        return batch


class Job:
    """The one training job of this process."""

    def __init__(self) -> None:
        self.is_off = False  # The script uses the trainer.
        self.optimizers: List[Any] = []
        self.schedulers: List[Any] = []
        self.session: Optional[Session] = None
        self.optimizer: Any = None
        self.loader: Any = None
        self.last: Optional[LoaderIterator] = None  # Whose batch came last.
        self.current: Optional[LoaderIterator] = None  # Of the training loop under way.
        self.loop = 0  # How many training loops came before it.
        self.given: Optional[str] = None  # The batch that no step has followed yet.
        self.is_void = False  # The last step was.
        self.is_stepping = False
        self.is_catching_up = False
        self.needs_commit = False
        self.loss: Any = None
        self.losses = LossWatch()
        self.clips: List[Callable[[], None]] = []
        self.incoming: Optional[Dict[str, Any]] = None
        self.is_finished_elsewhere = False
        self.rehearsal: Dict[str, Any] = {}
        self.at_end: Dict[str, Any] = {}  # The place at the end of the last loop.

    @property
    def is_active(self) -> bool:
        has_conductor = "RUBATO_CONDUCTOR" in os.environ or "RUBATO_TAKEOVER" in os.environ
        return has_conductor and not self.is_off

    def refuse(self, reason: str) -> SystemExit:
        return self.session.refuse(reason) if self.session is not None else refuse(reason)

    # What the script draws.

    def iterate(self, loader: Any, iterate: Callable[[Any], Any]) -> Any:
        is_evaluation = loader is not self.loader or not torch.is_grad_enabled()
        if self.session is not None and is_evaluation and not self.is_catching_up:
            return iterate(loader)
        return LoaderIterator(self, loader, iterate)

    def next_batch(self, iterator: LoaderIterator) -> Any:
        if self.session is None:
            return self.rehearsed_batch(iterator)
        if iterator.loader is self.loader and iterator.is_training:
            return self.training_batch(iterator)
        # Its result will be thrown away, so the first batch will do.
        if self.is_catching_up and iterator.given > 0:
            raise StopIteration
        return iterator.next_own()

    def rehearsed_batch(self, iterator: LoaderIterator) -> Any:
        """Of a loader that may turn out to be the training loader."""
        batch = iterator.next_own()
        self.last = iterator
        self.losses.rehearse(checks.first_batch(iterator.loader))
        if iterator.given == 1 and self.optimizers and torch.is_grad_enabled():
            parameters = [p for optimizer in self.live_optimizers() for p in all_of(optimizer)]
            trained, _ = modules.split_roots(parameters)
            self.rehearsal = {
                "batch": batch,
                "buffers": [(m, n, m._buffers[n].clone()) for m, n in named_buffers(trained)],
                "variables": copy.deepcopy(variables.capture()),
            }
        return batch

    def training_batch(self, iterator: LoaderIterator) -> Any:
        if self.given is not None:
            raise self.refuse(checks.ACCUMULATION)
        self.settle()
        if iterator is not self.current:
            self.open_loop(iterator)
        elif self.is_void and self.rehearsal.get("variables") is not None:
            variables.install(self.rehearsal.pop("variables"))
        session = self.session
        while session.task is None:
            if self.loop < self.joining_epoch():
                return self.skipped(iterator)
            session.begin()
            if self.is_finished_elsewhere:
                self.end_with_others(iterator)
            if session.epoch < self.loop and self.incoming is None:
                # Another worker can be started in our place; the job need not end.
                raise RuntimeError(checks.SET_BACK.format(session.epoch, self.loop))
        if self.loop < self.joining_epoch():
            return self.skipped(iterator)
        if self.incoming is not None:
            self.join_loop()
        if self.loop < session.epoch:
            raise self.end_of_loop()
        iterator.has_trained = True
        return self.part_of_step()

    def joining_epoch(self) -> int:
        """Loops before this one were run through by others."""
        if self.incoming is not None:
            return self.incoming["loop"]
        session = self.session
        return session.epoch if session.is_warm else session.worker.epoch_on_joining

    def skipped(self, iterator: LoaderIterator) -> Any:
        """One batch, so that what follows the loop finds the names it expects; then its end."""
        if iterator.has_trained and self.incoming is None:
            raise self.end_of_loop()
        self.is_catching_up = True
        if iterator.had_void or iterator.has_trained:
            raise StopIteration
        iterator.had_void = True
        return self.void_batch(VOID)

    def end_of_loop(self) -> StopIteration:
        """Of an epoch that this worker has trained: what follows is for real, and alike."""
        self.is_catching_up = False
        # The last snapshot is written when the script's functions are gone. Whoever resumes from
        # it does what follows this loop by itself.
        self.at_end = copy.deepcopy(self.place())
        self.session.reseed_all_alike()
        return StopIteration()

    def void_batch(self, kind: str) -> Any:
        self.session.flat.keep_buffers()
        self.given = kind
        return self.rehearsal["batch"]

    def part_of_step(self) -> Any:
        session = self.session
        self.clips = []
        self.losses.part = []
        if not session.shards:
            # As many iterations as the others have: schedules and counters must keep up.
            return self.void_batch(SPARE)
        self.given = SHARD
        return session.start_shard(self.samples)

    def open_loop(self, iterator: LoaderIterator) -> None:
        began = self.current is not None and self.current.has_trained
        if began and not self.is_catching_up and self.session.epoch <= self.loop:
            raise self.refuse(checks.LEFT_EARLY)
        self.loop += 1
        self.current = iterator

    def join_loop(self) -> None:
        """Stands where the others stand."""
        incoming, self.incoming = self.incoming, None
        self.session.flat.take_over(self.session.loaded_flat)
        try:
            variables.install(incoming["variables"])
        except RuntimeError as error:
            raise self.refuse(str(error)) from None
        self.is_catching_up = False
        self.is_void = False

    def end_with_others(self, iterator: LoaderIterator) -> None:
        """Someone has ended its training: it had committed a step that we had not."""
        if iterator.has_trained:
            self.incoming = None
            self.is_void = False
            self.is_finished_elsewhere = False
            self.session.shards = []
            raise self.end_of_loop()
        self.session.finish()
        raise SystemExit(0)

    # What the script does with a batch.

    def on_backward(self, loss: torch.Tensor, gradient: Any) -> None:
        """Before the gradients of a loss are computed."""
        if not self.is_active or loss is None:
            return  # Torch itself complains of more gradients than losses.
        if self.session is None and self.last is not None:
            self.losses.on_rehearsal(loss, gradient)
        elif self.given == SHARD:
            shard = self.session.shards[0]
            self.losses.on_part(loss, gradient, shard.end - shard.begin)

    def step(self, optimizer: Any, apply: Callable[[], Any], closure: Any) -> Any:
        """In place of `optimizer.step`."""
        if self.is_stepping:
            return apply()
        if self.session is None:
            if all(p.grad is None for p in all_of(optimizer)):
                return apply()  # Some scripts do this to keep schedulers quiet.
            if closure is not None:
                raise self.refuse(checks.CLOSURE)
            self.adopt(optimizer)
            return None
        self.check_step(optimizer, closure)
        kind, self.given = self.given, None
        if kind == VOID:
            self.session.flat.restore_buffers()
            self.is_void = True
            return None
        self.end_part(kind)
        if self.session.shards:
            self.session.flat.point_at(self.session.shards[0].slot)
            self.is_void = True
            return None
        self.is_void = not self.session.reduce()
        if not self.is_void:
            self.apply(apply)
        return None

    def check_step(self, optimizer: Any, closure: Any) -> None:
        if closure is not None:
            raise self.refuse(checks.CLOSURE)
        if optimizer is not self.optimizer:
            raise self.refuse(checks.SEVERAL_OPTIMIZERS)
        if self.given is None:
            raise self.refuse(checks.TWICE)
        parameters = trained_parameters(optimizer)
        flat = self.session.flat.parameters
        if len(parameters) != len(flat) or any(a is not b for a, b in zip(parameters, flat)):
            raise self.refuse(checks.CHANGED_PARAMETERS)

    def end_part(self, kind: str) -> None:
        session = self.session
        if kind == SPARE:
            session.flat.restore_buffers()
            session.flat.clear(0)
            return
        shard = session.shards[0]
        term = self.losses.sum_in_part(shard.end - shard.begin)
        if term is not None:
            raise self.refuse(SUMMED_LOSS.format(term))
        loss = self.loss
        is_number = loss is not None and loss.numel() == 1
        session.end_shard(float(loss.detach()) if is_number else 0.0)
        self.loss = None

    def apply(self, apply: Callable[[], Any]) -> None:
        for clip in self.clips:
            clip()
        self.is_stepping = True
        try:
            apply()
        finally:
            self.is_stepping = False
        self.needs_commit = True

    def settle(self) -> None:
        """Commits the step whose iteration is over."""
        if self.needs_commit:
            self.needs_commit = False
            self.session.commit()

    # Joining, and the state that goes to newcomers.

    def adopt(self, optimizer: Any) -> None:
        """The loader whose batch came last trains; joins the job."""
        if self.last is None:
            raise refuse(checks.NO_LOADER)
        loader = self.last.loader
        reason = checks.against_loader(loader)
        if reason is None and self.last.given != 1:
            reason = checks.ACCUMULATION
        parameters = trained_parameters(optimizer)
        reason = reason or checks.against_gradients(parameters)
        term = self.losses.sum_in_rehearsal()
        if reason is None and term is not None:
            reason = SUMMED_LOSS.format(term)
        if reason is not None:
            raise refuse(reason)
        trained, bystanders = modules.split_roots(parameters)
        for module, name, before in self.rehearsal.get("buffers", []):
            module._buffers[name].copy_(before)
        flat = FlatModel(parameters, trained, bystanders)
        flat.unused = {i: True for i, p in enumerate(parameters) if p.grad is None}
        self.session = Session(
            optimizer,
            flat,
            JobOptions(
                samples=len(loader.dataset),
                batch=loader.batch_size,
                drop_last=loader.drop_last,
                is_deterministic=os.environ.get("RUBATO_DETERMINISTIC", "0") not in ("", "0"),
            ),
            Extras(self.save, self.load),
            self.settle,
        )
        # Schedulers are part of the last snapshot, when functions of the script are gone already.
        self.kept_schedulers = self.live_schedulers()
        self.optimizer, self.loader, self.current = optimizer, loader, self.last
        self.current.own = None
        self.current.had_void = self.is_void = True
        is_shuffled = isinstance(loader.sampler, torch.utils.data.RandomSampler)
        self.samples = self.session.samples(loader.dataset, is_shuffled, loader.collate_fn)
        if loader.num_workers > 0 and os.environ.get("RUBATO_WORKER", "1") == "1":
            print(f"rubato: the training loader's {loader.num_workers} processes are not used; "
                  "each worker loads its own samples", file=sys.stderr)

    def live_optimizers(self) -> List[Any]:
        return [o for o in (reference() for reference in self.optimizers) if o is not None]

    def live_schedulers(self) -> List[Any]:
        return [s for s in (reference() for reference in self.schedulers) if s is not None]

    def add_optimizer(self, optimizer: Any) -> None:
        self.optimizers.append(weakref.ref(optimizer))

    def add_scheduler(self, scheduler: Any) -> None:
        if all(reference() is not scheduler for reference in self.schedulers):
            self.schedulers.append(weakref.ref(scheduler))

    def save(self) -> Dict[str, Any]:
        if self.incoming is not None:
            return self.incoming  # We stand nowhere yet; but we know where we should.
        if self.session.is_finishing and self.at_end.get("loop") == self.loop:
            return self.at_end
        return self.place()

    def place(self) -> Dict[str, Any]:
        """Where the script is, and what it knows there."""
        return {
            "loop": self.loop,
            "schedulers": [scheduler.state_dict() for scheduler in self.live_schedulers()],
            "variables": variables.capture(),
        }

    def load(self, extras: Dict[str, Any], is_finished: bool) -> None:
        self.incoming = extras
        schedulers = self.live_schedulers()
        if len(schedulers) != len(extras["schedulers"]):
            raise ValueError("the workers have different numbers of learning-rate schedulers")
        for scheduler, state in zip(schedulers, extras["schedulers"]):
            scheduler.load_state_dict(state)
        # Whoever begins from a snapshot has nobody to end with.
        is_begun = self.session.task is not None or self.current.has_trained
        self.is_finished_elsewhere = is_finished and is_begun

    # The rest of the script.

    @property
    def may_schedule(self) -> bool:
        return self.session is None or not (self.is_void or self.is_catching_up)

    @property
    def may_write(self) -> bool:
        """Files are written by one worker, and not again for epochs that are done."""
        if self.session is None:
            return os.environ.get("RUBATO_WORKER", "1") in ("0", "1")
        return self.session.worker.is_leader and not self.is_catching_up


def all_of(optimizer: Any) -> List[torch.Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


JOB = Job()
