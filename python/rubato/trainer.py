"""The trainer: a loop over this worker's share of every batch.

What may surprise: a body of the loop is run once per shard, not once per step. A step that is
broken off is run again, a worker without samples runs none, and before the first step two small
batches are tried out and thrown away (`is_warming_up`).
"""

import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Union

import torch

from rubato import _core
from rubato.losses import SUMMED_LOSS, LossWatch
from rubato.refusal import refuse
from rubato.session import Extras, JobOptions, Session

WARM_UP_SAMPLES = 8


def as_list(one_or_many: Any) -> List[Any]:
    if one_or_many is None:
        return []
    return list(one_or_many) if isinstance(one_or_many, (list, tuple)) else [one_or_many]


class Trainer:
    """Trains a model elastically: `for batch in trainer: trainer.step(loss(batch))`.

    batch           samples of a step, of all workers together
    epochs, steps   when to end; at least one of them
    deterministic   the same bits for every history of resizes, at the price of smaller shards
    adaptive_batch  True, or the largest batch: grows the batch while that pays, with AdaScale
    schedulers      learning-rate schedulers, stepped by us after every `schedule` ("step", "epoch")
    before_apply    called between reduction and optimizer step, for instance to clip gradients
    state           a dictionary of your own, which newcomers are handed
    """

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        dataset: Any,
        *,
        batch: int,
        epochs: Optional[int] = None,
        steps: Optional[int] = None,
        shuffle: bool = True,
        drop_last: bool = False,
        deterministic: bool = False,
        adaptive_batch: Union[bool, int] = False,
        rate_rule: Optional[str] = None,
        schedulers: Any = None,
        schedule: str = "step",
        collate_fn: Optional[Callable[[Sequence[Any]], Any]] = None,
        before_apply: Optional[Callable[[], None]] = None,
        state: Optional[Dict[str, Any]] = None,
    ) -> None:
        if epochs is None and steps is None:
            raise ValueError("say when to end: epochs=..., steps=..., or both")
        if schedule not in ("step", "epoch"):
            raise ValueError(f"schedule is 'step' or 'epoch', found {schedule!r}")
        if isinstance(dataset, torch.utils.data.IterableDataset):
            raise refuse("an IterableDataset cannot be shared by workers that come and go")
        self.optimizer = optimizer
        self.epochs = epochs
        self.steps = steps
        self.schedulers = as_list(schedulers)
        self.schedule = schedule
        self.before_apply = before_apply
        self.state = {} if state is None else state
        self.finish_hooks: List[Callable[[], None]] = []
        self.is_warming_up = False
        self._is_owed_a_step = False
        self._samples_given = 0
        self._adaptive = AdaptiveSize(optimizer, batch, len(dataset), adaptive_batch, rate_rule)
        self._session = Session(
            optimizer,
            model,
            JobOptions(
                samples=len(dataset),
                batch=batch,
                drop_last=drop_last,
                is_deterministic=deterministic,
                measures_noise=bool(adaptive_batch),
            ),
            Extras(self._save, self._load),
        )
        self._samples = self._session.samples(dataset, shuffle, collate_fn)
        # Whoever computes whole batches may sum as they like.
        self._losses = LossWatch() if self._session.is_shared else None

    @property
    def is_leader(self) -> bool:
        """True on the one worker that should print and write files."""
        return self._session.worker.is_leader

    @property
    def step_number(self) -> int:
        """Steps committed so far."""
        return self._session.worker.step

    @property
    def epoch(self) -> int:
        """Of the step under way, or of the next one."""
        return self._session.epoch

    @property
    def generation(self) -> int:
        """Which group of workers the step under way is shared by."""
        task = self._session.task
        return 0 if task is None else task.generation

    @property
    def metrics(self) -> Dict[str, float]:
        """Of the last committed step, the same on every worker."""
        done = self._session.done
        return {
            "step": self.step_number,
            "epoch": self.epoch,
            "loss": self._session.worker.mean_loss,
            "workers": 0 if done is None else done.size,
            "generation": 0 if done is None else done.generation,
            "batch": self._session.worker.batch,
            "noise_scale": self._adaptive.noise_scale,
        }

    def at_finish(self, hook: Callable[[], None]) -> Callable[[], None]:
        """Has the leader call a function when all steps are done."""
        self.finish_hooks.append(hook)
        return hook

    def __iter__(self) -> Iterator[Any]:
        session = self._session
        if not session.is_alone and not session.is_warm:
            yield from self._warm_up()
        while not self._is_done():
            session.begin()
            if self._is_done():  # We were handed the state of a job that is at its end.
                break
            self._begin_time = time.perf_counter()
            while session.shards:
                self._samples_given = session.shards[0].end - session.shards[0].begin
                batch = session.start_shard(self._samples)
                self._is_owed_a_step = True
                yield batch
                self._insist_on_step()
                if session.task is None:
                    break
            if session.task is not None and not session.shards:
                self._complete()
        session.finish()
        if self.is_leader:
            for hook in self.finish_hooks:
                hook()

    def step(self, loss: torch.Tensor) -> bool:
        """Computes gradients; with the last shard of a step also applies them. True: committed."""
        if not isinstance(loss, torch.Tensor):
            raise TypeError(f"step() takes the loss of a batch as a tensor, found "
                            f"{type(loss).__name__}; closures are not called")
        if not self._is_owed_a_step:
            raise RuntimeError("step() was called twice for one batch")
        self._is_owed_a_step = False
        if self._losses is not None:
            term = self._losses.sum_in(loss, self._samples_given)
            if term is not None:
                raise self._session.refuse(SUMMED_LOSS.format(term))
        loss.backward()
        if self.is_warming_up:
            return False
        self._session.end_shard(float(loss.detach()))
        return not self._session.shards and self._complete()

    def _warm_up(self) -> Iterator[Any]:
        """Lets libraries choose and allocate what they need, while the others train on."""
        session = self._session
        total = len(self._samples.dataset)
        count = min(WARM_UP_SAMPLES, total, session.worker.batch)
        # Losses of two sizes tell a mean from a sum, and other samples tell buffers that follow
        # them from those that count steps. Batch normalisation needs two samples.
        spans = [range(count), range(total - max(2, count - 3), total)]
        with session.trying_out() as compare:
            for span in spans if count > 2 else spans[:1]:
                self.is_warming_up = self._is_owed_a_step = True
                self._samples_given = len(span)
                session.flat.expect_gradients(0)
                yield self._samples.collated(list(span))
                self._insist_on_step()
                compare()
        self.is_warming_up = False

    def _insist_on_step(self) -> None:
        if self._is_owed_a_step:
            raise self._session.refuse(
                "a batch was not followed by trainer.step(loss); to accumulate gradients, raise "
                "`batch` instead"
            )

    def _complete(self) -> bool:
        session = self._session
        is_last = session.is_last_of_epoch
        if not session.reduce():
            return False
        if self.before_apply is not None:
            self.before_apply()
        self._adaptive.apply(session)
        # A snapshot may be taken when the step is committed: all that belongs to it comes before.
        if self.schedule == "step" or is_last:
            for scheduler in self.schedulers:
                scheduler.step()
        self._adaptive.look_ahead(session, time.perf_counter() - self._begin_time)
        session.commit()
        if is_last:
            session.reseed_all_alike()
        return True

    def _is_done(self) -> bool:
        is_last_epoch = self.epochs is not None and self._session.epoch >= self.epochs
        return is_last_epoch or (self.steps is not None and self.step_number >= self.steps)

    def _save(self) -> Dict[str, Any]:
        return {
            "schedulers": [scheduler.state_dict() for scheduler in self.schedulers],
            "state": self.state,
            "noise": self._adaptive.totals,
        }

    def _load(self, extras: Dict[str, Any]) -> None:
        for scheduler, state in zip(self.schedulers, extras["schedulers"]):
            scheduler.load_state_dict(state)
        self.state.clear()
        self.state.update(extras["state"])
        self._adaptive.totals = extras["noise"]


class AdaptiveSize:
    """The batch that learns fastest, and the learning rate that goes with it; does nothing if off.

    The noise is measured alike on every worker; the batch is proposed by the leader, who measures
    how long steps take, and changes for all after the same step.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        batch: int,
        samples: int,
        batch_max: Union[bool, int],
        rule: Optional[str],
    ) -> None:
        self.is_on = bool(batch_max)
        if not self.is_on:
            return
        largest = min(samples, 32 * batch) if batch_max is True else min(samples, int(batch_max))
        is_adam = "adam" in type(optimizer).__name__.lower()
        self.rule = rule or ("adamscale" if is_adam else "adascale")
        self.noise = _core.NoiseScale(batch)
        self.choice = _core.AdaptiveBatch(batch, max(batch, largest))
        self.times: Dict[int, List[float]] = {}
        self.generation = 0
        self.steps_since_change = 0
        self.batch = batch

    @property
    def noise_scale(self) -> float:
        return self.noise.scale if self.is_on and self.noise.is_measured else 0.0

    @property
    def totals(self) -> Any:
        return self.noise.totals if self.is_on else None

    @totals.setter
    def totals(self, totals: Any) -> None:
        if self.is_on and totals is not None:
            self.noise.totals = totals

    def apply(self, session: Session) -> None:
        """The optimizer's step, at the learning rate that suits the batch."""
        optimizer = session.optimizer
        if not self.is_on:
            optimizer.step()
            return
        samples = session.done.samples
        self.noise.add(session.worker, samples)
        factor = self.noise.rate_factor(self.rule, samples)
        rates = [group["lr"] for group in optimizer.param_groups]
        for group in optimizer.param_groups:
            group["lr"] *= factor
        optimizer.step()
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate

    def look_ahead(self, session: Session, seconds: float) -> None:
        """Takes in how long the step took; the leader may propose another batch."""
        if not self.is_on:
            return
        done = session.done
        if done.generation != self.generation:
            self.generation = done.generation
            self.times.clear()
        entry = self.times.setdefault(done.samples, [0.0, 0.0])
        entry[0] += seconds
        entry[1] += 1
        self.steps_since_change += 1
        if session.worker.batch != self.batch:
            self.batch = session.worker.batch
            self.steps_since_change = 0
        if session.worker.is_leader:
            times = [(size, sum_ / count, count) for size, (sum_, count) in self.times.items()]
            batch = self.choice.propose(
                session.worker.batch, self.steps_since_change, self.noise, times
            )
            if batch:
                session.worker.propose_batch(batch)
