"""One worker's part in an elastic job, step by step; driven by the trainer.

    begin -> for each shard: start_shard, (forward, backward), end_shard -> reduce -> commit
"""

import contextlib
import io
import os
import time
import weakref
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

import torch

from rubato import _core, blas, ending
from rubato.flat import FlatModel
from rubato.optimizers import frozen_parameters, group_sizes, trained_parameters, unfit
from rubato.randomness import reseed
from rubato.refusal import Refused, address, refuse, worker_options
from rubato.samples import Samples
from rubato.untrained import Untrained

EVALUATION_SHARD = 2**32  # Draws what no shard of a step draws.


class Shard(NamedTuple):
    """Samples [begin, end) of an epoch's order, whose gradient goes into a slot."""

    slot: int
    begin: int
    end: int


class JobOptions(NamedTuple):
    """What of a job does not follow from its model."""

    samples: int
    batch: int
    drop_last: bool
    is_deterministic: bool = False
    measures_noise: bool = False
    check_every: int = 64  # Steps between comparisons of all workers' parameters.


class Session:
    """The state of one worker between joining and finishing."""

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        model: torch.nn.Module,
        options: JobOptions,
        extras: "Extras",
    ) -> None:
        reason = unfit(optimizer)
        if reason is not None:
            raise refuse(reason)
        self.optimizer = optimizer
        self.group_sizes = group_sizes(optimizer)
        self.frozen = frozen_parameters(optimizer)
        self.options = options
        self.extras = extras
        self.flat = FlatModel(trained_parameters(optimizer), model)
        self.untrained = Untrained(model, self.flat.parameters)
        self.task: Optional[_core.StepTask] = None
        self.done: Optional[_core.StepTask] = None  # The last one that was applied.
        self.shards: List[Shard] = []
        self.generation = -1
        self.is_warm = False
        self.is_over = False
        self.is_refused = False
        self.worker = self.join()
        self.flat.attach(self.worker, self.slots)
        # Whoever computes whole batches, now and later, may do with buffers as they like.
        self.is_shared = not self.is_alone or self.slots > 1
        if not self.is_alone:
            ending.watch(self)

    @property
    def slots(self) -> int:
        if self.options.is_deterministic:
            return _core.VIRTUAL_SHARDS
        return 2 if self.options.measures_noise else 1

    def join(self) -> _core.Worker:
        if address()["worker"] <= 1:
            blas.warn_if_slow()  # One worker of a job is enough to say it.
        options = worker_options(
            parameter_bytes=self.flat.parameter_bytes,
            floats=self.flat.floats,
            slots=self.slots,
            samples=self.options.samples,
            batch=self.options.batch,
            drop_last=self.options.drop_last,
            shards=_core.VIRTUAL_SHARDS if self.options.is_deterministic else 0,
            measures_noise=self.options.measures_noise,
            measured_floats=self.flat.gradient_floats,
            check_every=self.options.check_every,
        )
        # The worker must not keep us alive, nor the model with us.
        self_reference = weakref.ref(self)
        return _core.Worker(
            options,
            lambda: self_reference().save(),
            lambda state: self_reference().load(state),
        )

    @property
    def is_alone(self) -> bool:
        return not os.environ.get("RUBATO_CONDUCTOR")

    @property
    def epoch(self) -> int:
        """Of the step to come."""
        return self.worker.next_range[0]

    @property
    def is_last_of_epoch(self) -> bool:
        """True if the step to come is the last one of its epoch."""
        _, _, end = self.worker.next_range
        left = self.options.samples - end
        return left == 0 or (self.options.drop_last and left < self.worker.batch)

    def samples(self, dataset: Any, is_shuffled: bool, collate_fn: Any) -> Samples:
        return Samples(
            dataset, seed=self.worker.seed, is_shuffled=is_shuffled, collate_fn=collate_fn
        )

    def begin(self) -> None:
        """Starts the next step with whoever is a member; ends the process if it is not needed."""
        if not self.is_warm:
            self.is_warm = True
            self.worker.warm()
        with self.refusing():
            self.flat.bring_back()
            self.check_optimizer()
            self.task = self.worker.begin()
        if self.task is None:
            self.is_over = True
            raise SystemExit(0)
        ranges = self.task.shards
        self.shards = [Shard(slot, *span) for slot, span in enumerate(ranges) if span[0] < span[1]]
        self.loss_sum = 0.0
        self.sample_sum = 0
        self.data_seconds = 0.0
        self.tag: Optional[int] = None
        self.keep()
        for slot, span in enumerate(ranges):
            if slot > 0 or span[0] == span[1]:
                self.flat.clear(slot)

    def keep(self) -> None:
        """Remembers what every shard of the step begins with."""
        self.flat.keep_statistics()
        if not self.is_shared:
            return
        is_new = self.task.generation != self.generation
        if is_new or self.task.step % self.options.check_every == 0:
            self.generation = self.task.generation
            with self.refusing():
                self.untrained.look_again()
        self.untrained.keep()

    @contextlib.contextmanager
    def trying_out(self) -> Iterator[Callable[[], None]]:
        """Around batches that do not count: all that they change is undone. What is yielded must
        be called after each of them; it refuses buffers that follow the samples."""
        parameters = self.flat.region.clone()
        self.flat.keep_statistics()
        self.untrained.keep(is_whole=True)
        self.tag = None

        def end_batch() -> None:
            with self.refusing():
                self.flat.bring_back()
            self.compare_tags(self.untrained.tag())
            self.restore()

        yield end_batch
        self.flat.region.copy_(parameters)

    def restore(self) -> None:
        """Undoes what a forward has changed."""
        self.flat.restore_statistics()
        if self.is_shared:
            with self.refusing():
                self.untrained.restore()

    def check_optimizer(self) -> None:
        """Raises ValueError if it would move parameters that nobody averages."""
        if group_sizes(self.optimizer) != self.group_sizes:
            raise ValueError("parameters were added to the optimizer after the trainer was made: "
                             "make the trainer when the optimizer is complete")
        if any(parameter.requires_grad for parameter in self.frozen):
            raise ValueError("parameters were thawed after the trainer was made: make the trainer "
                             "before they are frozen")

    def start_shard(self, samples: Samples) -> Any:
        """The batch of the next shard; gradients go into its slot."""
        shard = self.shards[0]
        self.flat.expect_gradients(shard.slot)
        if self.tag is not None:  # Not the first one.
            self.restore()
        began = time.perf_counter()
        reseed(self.worker.seed, self.task.step, self.task.first_shard + shard.slot)
        batch = samples.batch(self.epoch, shard.begin, shard.end)
        self.data_seconds += time.perf_counter() - began
        return batch

    def end_shard(self, loss: float) -> None:
        shard = self.shards.pop(0)
        with self.refusing():
            self.flat.gather()
        self.compare_tags(self.own_tag())
        self.loss_sum += loss * (shard.end - shard.begin)
        self.sample_sum += shard.end - shard.begin

    def compare_tags(self, tag: int) -> None:
        """Of a shard with those before it."""
        if self.tag is not None and tag != self.tag:
            raise self.refuse(self.untrained.difference())
        self.tag = tag

    def reduce(self) -> bool:
        """True: the gradient of the whole batch is in place. False: the step begins again."""
        loss = self.loss_sum / self.sample_sum if self.sample_sum else 0.0
        task, self.task = self.task, None
        # Parameters are compared between workers now and then, and statistics lie among them.
        self.flat.restore_statistics()
        tag = -self.own_tag() if self.tag is None else self.tag  # Negative: without samples.
        with self.refusing():
            is_whole = self.worker.reduce(loss, self.data_seconds, tag) and self.make_equal()
        if not is_whole:
            self.restore()
            self.flat.clear(0)
            return False
        self.done = task
        self.flat.spread()
        self.untrained.end_step()
        return True

    def own_tag(self) -> int:
        return self.untrained.tag() if self.is_shared else 1

    def make_equal(self) -> bool:
        """Compares what is not averaged; who had no samples gets it. False: begin again."""
        tags = self.worker.tags
        computed = {tag for tag in tags if tag > 0}
        if len(computed) > 1:
            raise self.refuse(self.untrained.difference())
        if {abs(tag) for tag in tags} == computed:
            return True
        source = next(rank for rank, tag in enumerate(tags) if tag > 0)
        state = self.worker.copy_from(source, packed(self.untrained.state()))
        if state is None:
            return False
        if self.tag is None:
            self.untrained.take_over(torch_load(io.BytesIO(state)))
        return True

    def commit(self) -> None:
        with self.refusing():
            self.worker.commit()

    def reseed_all_alike(self) -> None:
        """What follows is done by every worker, with the same random numbers."""
        reseed(self.worker.seed, self.worker.step, EVALUATION_SHARD)

    def finish(self) -> None:
        """All have committed the same last step; whoever has not is handed it here."""
        if self.is_over:
            return
        with self.refusing():
            self.flat.bring_back()
            if self.is_shared:
                self.untrained.look_again()
            self.worker.finish()
        self.is_over = True

    def refuse(self, reason: str) -> Refused:
        self.is_refused = True
        return refuse(reason, self.worker)

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """What is wrong with the program ends the job, and the conductor hears why."""
        try:
            yield
        except ValueError as error:
            raise self.refuse(str(error)) from None

    def save(self) -> bytes:
        self.flat.bring_back()
        return packed({
            "flat": self.flat.state(),
            "untrained": self.untrained.state(),
            "optimizer": self.optimizer.state_dict(),
            "extras": self.extras.save(),
        })

    def load(self, state: bytes) -> None:
        parts = torch_load(io.BytesIO(state))
        self.flat.take_over(parts["flat"])
        self.untrained.take_over(parts["untrained"])
        self.optimizer.load_state_dict(parts["optimizer"])
        self.extras.load(parts["extras"])


class Extras(NamedTuple):
    """What else goes to newcomers."""

    save: Callable[[], Dict[str, Any]]
    load: Callable[[Dict[str, Any]], None]


def packed(state: Any) -> bytes:
    target = io.BytesIO()
    torch.save(state, target)
    return target.getvalue()


def torch_load(source: Any) -> Any:
    """Loads what a worker of the same job has saved; newer versions must be told to trust it."""
    try:
        return torch.load(source, weights_only=False)
    except TypeError:
        return torch.load(source)
