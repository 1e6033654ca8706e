"""One worker's part in an elastic job, step by step; the trainer and the takeover both drive it.

    begin -> for each shard: start_shard, (forward, backward), end_shard -> reduce -> commit
"""

import io
import os
import time
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

import torch

from rubato import _core, blas, ending
from rubato.flat import FlatModel
from rubato.randomness import reseed
from rubato.refusal import Refused, address, refuse, worker_options
from rubato.samples import Samples

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


def trained_parameters(optimizer: torch.optim.Optimizer) -> List[torch.Tensor]:
    return [
        parameter
        for group in optimizer.param_groups
        for parameter in group["params"]
        if parameter.requires_grad
    ]


def unfit(parameters: Sequence[torch.Tensor]) -> Optional[str]:
    """Why these parameters cannot be trained here; nothing if they can."""
    if not parameters:
        return "the optimizer has no parameters that need a gradient"
    for parameter in parameters:
        if parameter.is_cuda:
            return "parameters lie on a CUDA device, and this build of Rubato has no NCCL"
        if parameter.device.type != "cpu":
            return f"parameters lie on the device {parameter.device}; only CPUs are supported"
        if parameter.dtype != torch.float32:
            return f"parameters are {parameter.dtype}; only torch.float32 is supported"
        if parameter.layout != torch.strided:
            return "parameters are sparse tensors"
    return None


class Session:
    """The state of one worker between joining and finishing."""

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        flat: FlatModel,
        options: JobOptions,
        extras: "Extras",
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        """`settle` commits a step that still is to be committed when the process ends."""
        self.optimizer = optimizer
        self.flat = flat
        self.options = options
        self.extras = extras
        self.task: Optional[_core.StepTask] = None
        self.shards: List[Shard] = []
        self.is_warm = False
        self.is_finishing = False
        self.is_over = False
        self.is_refused = False
        self.was_loaded = False
        self.worker = self.join()
        flat.attach(self.worker, self.slots)
        if not self.is_alone:
            ending.watch(self, settle)

    @property
    def slots(self) -> int:
        if self.options.is_deterministic:
            return _core.VIRTUAL_SHARDS
        return 2 if self.options.measures_noise else 1

    def join(self) -> _core.Worker:
        reason = unfit(self.flat.parameters)
        if reason is not None:
            raise refuse(reason)
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
        self.task = self.worker.begin()
        if self.task is None:
            self.is_over = True
            raise SystemExit(0)
        ranges = self.task.shards
        self.shards = [Shard(slot, *span) for slot, span in enumerate(ranges) if span[0] < span[1]]
        self.loss_sum = 0.0
        self.sample_sum = 0
        self.data_seconds = 0.0
        self.flat.keep_buffers()
        for slot, span in enumerate(ranges):
            if slot > 0 or span[0] == span[1]:
                self.flat.clear(slot)

    def start_shard(self, samples: Samples) -> Any:
        """The batch of the next shard; gradients go into its slot."""
        shard = self.shards[0]
        if shard.slot != self.flat.slot:
            self.flat.point_at(shard.slot)
        if shard.slot > 0:
            self.flat.restore_buffers()
        began = time.perf_counter()
        reseed(self.worker.seed, self.task.step, self.task.first_shard + shard.slot)
        batch = samples.batch(self.epoch, shard.begin, shard.end)
        self.data_seconds += time.perf_counter() - began
        return batch

    def end_shard(self, loss: float) -> None:
        shard = self.shards.pop(0)
        try:
            self.flat.gather()
        except TypeError as error:
            raise self.refuse(f"{error}: only dense gradients can be averaged") from None
        self.loss_sum += loss * (shard.end - shard.begin)
        self.sample_sum += shard.end - shard.begin

    def reduce(self) -> bool:
        """True: the gradient of the whole batch is in place. False: the step begins again."""
        loss = self.loss_sum / self.sample_sum if self.sample_sum else 0.0
        task, self.task = self.task, None
        # Parameters are compared between workers now and then, and buffers lie among them.
        self.flat.restore_values()
        try:
            is_whole = self.worker.reduce(loss, self.data_seconds)
        except ValueError as error:
            raise self.refuse(str(error)) from None
        if not is_whole:
            self.flat.clear(0)
            self.flat.point_at(0)
            return False
        self.done = task
        self.flat.spread()
        return True

    def commit(self) -> None:
        self.worker.commit()

    def reseed_all_alike(self) -> None:
        """What follows is done by every worker, with the same random numbers."""
        reseed(self.worker.seed, self.worker.step, EVALUATION_SHARD)

    def finish(self) -> None:
        """All have committed the same last step; whoever has not is handed it here."""
        if self.is_over:
            return
        self.is_finishing = True
        try:
            self.worker.finish()
        except ValueError as error:
            raise self.refuse(str(error)) from None
        self.is_over = True

    def refuse(self, reason: str) -> Refused:
        self.is_refused = True
        return refuse(reason, self.worker)

    def save(self) -> bytes:
        target = io.BytesIO()
        state = {
            "flat": self.flat.state(),
            "optimizer": self.optimizer.state_dict(),
            "is_finished": self.is_finishing,
            "extras": self.extras.save(),
        }
        torch_save(state, target)
        return target.getvalue()

    def load(self, state: bytes) -> None:
        parts = torch_load(io.BytesIO(state))
        self.flat.take_over(parts["flat"])
        self.optimizer.load_state_dict(parts["optimizer"])
        self.was_loaded = True
        self.loaded_flat = parts["flat"]
        self.extras.load(parts["extras"], parts["is_finished"])


class Extras(NamedTuple):
    """What else goes to newcomers."""

    save: Callable[[], Dict[str, Any]]
    load: Callable[[Dict[str, Any], bool], None]


# Kept from before a takeover replaces them: only the leader's files are written there.
torch_save = torch.save


def torch_load(source: Any) -> Any:
    """Loads what a worker of the same job has saved; newer versions must be told to trust it."""
    try:
        return torch.load(source, weights_only=False)
    except TypeError:
        return torch.load(source)
