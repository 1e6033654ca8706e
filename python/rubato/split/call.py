"""One shared call of a root module: forward, backward, and computing it again after a loss."""

import time
import weakref
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from torch.utils._pytree import TreeSpec, tree_unflatten

from rubato.split.graph_node import SplitFunction
from rubato.split.memory import Place, on_the_device, tensors_of
from rubato.split.memory_limits import is_out_of_memory
from rubato.split.output_path import BatchAxis
from rubato.split.part import (CallAborted, Current, Part, ReplicaLost, Settings, compute,
                               gradients_by_backward, gradients_of)
from rubato.split.pieces import (Gradients, PiecedPart, RunningSum, add_up, join_inputs, joined,
                                 plan_pieces)
from rubato.split.randomness import seeded_part
from rubato.split.rehearsal import CONCATENATED, Verdict, piece_of
from rubato.split.replica import (Assigned, BackwardRequest, ForwardRequest, Input, KeptPart,
                                  Output, Ranks)

ATTEMPTS_MAX = 3  # At a backward whose replicas die.


class PartFailed(Exception):
    """A part raised an exception: the call is made again unsplit, which shows it to the user."""


class OutOfMemory(PartFailed):
    """A part did not fit: the call is made again, in smaller pieces."""


class SplitCall:
    """Part `k` is computed by worker `owners[k]`; worker 0 is the leader. A worker whose parts have
    more rows than `rows_max` computes them in pieces. Alone, the leader computes all of it."""

    def __init__(self, controller: Any, root: Any, verdict: Verdict, spec: TreeSpec,
                 leaves: Sequence[Any], sizes: Sequence[int], seed: Optional[int],
                 rows_max: Optional[int] = None, is_alone: bool = False) -> None:
        controller.calls += 1
        self.number = controller.calls
        self.controller, self.root, self.verdict, self.spec = controller, root, verdict, spec
        self.module = root.module()
        self.leaves: List[Any] = list(leaves)
        self.versions = [version_of(leaf) for leaf in leaves]
        self.settings = Settings()
        self.seed = seed
        self.is_alone = is_alone
        self.replicas = [] if is_alone else list(controller.group.replicas)
        self.sizes = list(sizes)
        self.begins = [sum(self.sizes[:k]) for k in range(len(self.sizes))]
        workers = 1 + len(self.replicas)
        self.owners = [k * workers // len(self.sizes) for k in range(len(self.sizes))]
        self.inputs = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)
                       and leaf.requires_grad and self.settings.grad]
        self.parameters = root.trained_parameters()
        self.rows_max = rows_max
        self.plans = plan_pieces(self.sizes, self.owners, verdict, rows_max)
        # What pieces are computed from again must not have changed by then.
        self.tensor_versions = ([] if not any(self.plans) else
                                [(t, t._version) for t in tensors_of(self.module)])
        self.kept: Dict[int, Any] = {}  # A KeptPart or a PiecedPart for each own part.
        # The replicas hold no graph of it.
        self.is_released = is_alone or not self.settings.grad
        controller.outstanding += not self.is_released
        self.results: List[Any] = []
        self.needs_gradient: List[bool] = []
        self.output_spec: Any = None
        self.own_seconds = 0.0
        self.device = root.cuda_device
        self.is_repeated = False  # Statistics have been updated by the first time.
        self.losses = 0  # That were computed on its parts.
        self.due: List[Any] = []  # Of these, those that the next backward begins at.
        self.output_references: List[Any] = []
        self.is_exposed = False  # Somebody may have changed an output behind its version.

    def __del__(self) -> None:
        if not self.controller.is_replica:
            self.release()

    # What is cut, and what is put together.

    def part_leaves(self, part: int) -> List[Any]:
        found = []
        for i, leaf in enumerate(self.leaves):
            dimension = self.verdict.dimensions.get(i)
            if isinstance(leaf, torch.Tensor):
                leaf = leaf.detach()
                if dimension is not None:
                    leaf = leaf.narrow(dimension, self.begins[part], self.sizes[part])
            found.append(leaf)
        return found

    def placed_leaves(self, part: int) -> List[Any]:
        """A part's arguments for a replica: tensors lie in shared memory."""
        heap = self.controller.heap
        placed = []
        for i, leaf in enumerate(self.part_leaves(part)):
            if isinstance(leaf, torch.Tensor):
                where = self.controller.delivered.place(self.leaves[i], leaf)
                leaf = Input(where if where is not None else heap.put(leaf), i in self.inputs,
                             leaf.device.type)
            placed.append(leaf)
        return placed

    def parts_of(self, worker: int) -> List[int]:
        return [k for k, owner in enumerate(self.owners) if owner == worker]

    def ranks(self, rank: int) -> Ranks:
        group = self.controller.group
        return Ranks(rank, 1 + len(self.replicas), group.generation, group.sequence)

    def own_part(self) -> Part:
        where = self.ranks(0)
        return Part(self.controller.memory, *where,
                    is_alive=lambda rank: self.replicas[rank - 1].is_alive())

    # Forward.

    def forward(self, changes: Sequence[Any]) -> None:
        """Raises ReplicaLost, CallAborted or PartFailed; then nothing has happened."""
        if self.replicas:
            self.controller.heap.clear()
        for worker, replica in enumerate(self.replicas, 1):
            parts = [Assigned(k, self.placed_leaves(k), self.plans[k])
                     for k in self.parts_of(worker)]
            dropped, replica.dropped = replica.dropped, []
            replica.request(ForwardRequest(
                self.root.number, self.number, dropped, list(changes), self.spec, parts,
                self.settings, self.seed, self.ranks(worker)))
        self.controller.faults.on_forward(self)
        outputs: Dict[int, List[Any]] = {}
        began = time.perf_counter()
        with Current(self.controller, self.own_part()) as own:
            for k in self.parts_of(0):
                outputs[k] = self.compute_own(k)
        self.controller.group.sequence = own.sequence
        self.own_seconds = time.perf_counter() - began
        for worker, replica in enumerate(self.replicas, 1):
            reply = self.reply_of(replica)
            outputs.update(zip(self.parts_of(worker), reply.values))
        for update in own.updates if not self.is_repeated else ():
            update.apply()
        self.gather(outputs)

    def reply_of(self, replica: Any) -> Any:
        reply = replica.reply(self.own_seconds)
        if reply.error:
            raise (OutOfMemory if reply.is_out_of_memory else PartFailed)(reply.error)
        return reply

    def compute_own(self, part: int) -> List[Any]:
        leaves = [leaf.requires_grad_(i in self.inputs) if isinstance(leaf, torch.Tensor) else leaf
                  for i, leaf in enumerate(self.part_leaves(part))]
        plan = self.plans[part]
        if plan is not None:
            own = [leaf.detach().clone().requires_grad_(leaf.requires_grad)
                   if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
            pieced = PiecedPart(self.controller, self.module, self.spec, self.settings, plan, own,
                                self.seed, part)
            outputs = pieced.forward()
            self.output_spec = pieced.output_spec
            self.kept[part] = pieced
            return outputs
        with seeded_part(self.seed, part):
            outputs, self.output_spec = compute(self.controller.call_module, self.module,
                                                self.spec, leaves, self.settings)
        self.kept[part] = KeptPart(leaves, outputs, [])
        return outputs

    def gather(self, outputs: Dict[int, List[Any]]) -> None:
        self.results, self.needs_gradient = [], []
        for number, kind in enumerate(self.verdict.outputs):
            first = outputs[0][number]
            if not isinstance(first, torch.Tensor):
                self.results.append(first)
                self.needs_gradient.append(False)
                continue
            values, needs = [], False
            for part in range(len(self.sizes)):
                value = outputs[part][number]
                needs = needs or value.requires_grad
                values.append(self.view_place(value.place, value.device)
                              if isinstance(value, Output) else value.detach())
            self.results.append(joined(values, kind))
            self.needs_gradient.append(needs)

    def answer(self) -> Any:
        """What the script gets for its call."""
        if self.settings.grad and any(self.needs_gradient):
            tensors = [leaf for leaf in self.leaves if isinstance(leaf, torch.Tensor)]
            shared = iter(SplitFunction.apply(self, len(tensors), *tensors, *self.parameters))
            flat = [next(shared) if isinstance(result, torch.Tensor) else result
                    for result in self.results]
            self.results = []
            self.output_references = [weakref.ref(value) if isinstance(value, torch.Tensor)
                                      else None for value in flat]
            return tree_unflatten(flat, self.output_spec)
        self.release()
        return tree_unflatten(self.results, self.output_spec)

    def release(self) -> None:
        """The replicas may forget it."""
        if not self.is_released:
            self.forget()
            for replica in self.replicas:
                replica.dropped.append(self.number)

    def forget(self) -> None:
        """The replicas have forgotten it, or are gone."""
        if not self.is_released:
            self.is_released = True
            self.kept.clear()
            self.controller.outstanding -= 1

    # Losses of its outputs.

    def batch_axis(self, output: int) -> Optional[BatchAxis]:
        kind = self.verdict.outputs[output]
        if kind.kind != CONCATENATED:
            return None
        return BatchAxis(kind.dimension, sum(self.sizes))

    def is_output_unchanged(self, output: int) -> bool:
        """Certainly."""
        value = self.output_references[output]()
        return value is not None and value._version == 0 and not self.is_exposed

    def can_compute_losses(self) -> bool:
        """Pieces of parts have no graph to begin at."""
        return not self.is_released and self.is_group_alive() and not any(self.plans)

    def take_due(self) -> List[Any]:
        due = [one for one in self.due if one.epoch == self.controller.failed_backwards]
        self.due = []
        return due

    def with_losses(self, of_outputs: Gradients, due: Sequence[Any]) -> Gradients:
        """Gradients of the outputs, together with those that losses of the parts would have
        caused."""
        of_outputs = list(of_outputs)
        for one in due:
            output, gradient = one.loss.path.output, one.gradient_of_output()
            before = of_outputs[output]
            of_outputs[output] = gradient if before is None else before + gradient
        return of_outputs

    # Backward.

    @property
    def find_gradients(self) -> Any:
        return gradients_by_backward if self.verdict.needs_backward else gradients_of

    def cut_gradients(self, of_outputs: Gradients, part: int) -> Gradients:
        return [piece_of(gradient, kind, self.begins[part], self.sizes[part], part)
                for gradient, kind in zip(of_outputs, self.verdict.outputs)]

    def backward(self, of_outputs: Gradients) -> Tuple[Gradients, Gradients]:
        """Gradients of inputs and of parameters; computed again alone if a replica is lost."""
        self.check_parameters()
        due = self.take_due()
        if self.is_released or not self.is_group_alive():
            return self.again(self.with_losses(of_outputs, due))
        has_run_out = is_lost = False
        try:
            return self.shared_backward(of_outputs, due)
        except (ReplicaLost, CallAborted, PartFailed, MemoryError, RuntimeError) as error:
            has_run_out, is_lost = self.has_run_out(error), isinstance(error, ReplicaLost)
            if not has_run_out and not isinstance(error, (ReplicaLost, CallAborted, PartFailed)):
                raise
        # Not before: the exception holds what did not fit.
        if has_run_out and not is_lost:
            self.controller.group.reset()
        else:
            self.controller.lose_replicas("backward")
        self.forget()
        if has_run_out and self.can_divide_more():
            self.divide_more()
        return self.again(self.with_losses(of_outputs, due))

    def has_run_out(self, error: BaseException) -> bool:
        """Whether it was for want of memory."""
        if isinstance(error, ReplicaLost):
            return self.controller.group.has_run_out_of_memory()
        return isinstance(error, OutOfMemory) or is_out_of_memory(error)

    @property
    def rows_at_once(self) -> int:
        """The most that a worker computes."""
        return max(max(plan.sizes) if plan is not None else
                   sum(self.sizes[k] for k in self.parts_of(self.owners[part]))
                   for part, plan in enumerate(self.plans))

    def can_divide_more(self) -> bool:
        """After forward: other pieces would have other random numbers than the outputs."""
        return self.seed is None and self.root.fit.can_shrink(self.rows_at_once, self.verdict)

    def divide_more(self) -> None:
        """Each worker's parts in about twice as many pieces as they were."""
        self.rows_max = self.root.fit.shrink(self.rows_at_once, self.verdict)
        self.plans = plan_pieces(self.sizes, self.owners, self.verdict, self.rows_max)

    def is_group_alive(self) -> bool:
        return self.replicas == self.controller.group.replicas and all(
            not replica.is_dead for replica in self.replicas)

    def shared_backward(self, of_outputs: Gradients,
                        due: Sequence[Any] = ()) -> Tuple[Gradients, Gradients]:
        losses = [(one.number, one.gradient) for one in due]
        heap = self.controller.heap
        heap.clear()
        areas = self.controller.gradient_areas.begin(self)
        for worker, replica in enumerate(self.replicas, 1):
            parts = self.parts_of(worker)
            places = [heap.put_all(self.cut_gradients(of_outputs, k)) for k in parts]
            replica.request(BackwardRequest(
                self.root.number, self.number, losses, places, self.verdict.needs_backward,
                self.ranks(worker), None if areas is None else [areas[k] for k in parts]))
        self.controller.faults.on_backward(self)
        found: Dict[int, Any] = {}
        with Current(self.controller, self.own_part()) as own:
            for k in self.parts_of(0):
                gradients = self.kept.pop(k).gradients(
                    self.cut_gradients(of_outputs, k), self.parameters, self.find_gradients,
                    losses)
                found[k] = self.own_gradients(gradients, areas, k)
        self.controller.group.sequence = own.sequence
        for worker, replica in enumerate(self.replicas, 1):
            reply = self.reply_of(replica)
            for k, value in zip(self.parts_of(worker), reply.values):
                found[k] = self.viewed(value)
        self.forget()
        return self.summed(found, areas)

    def own_gradients(self, gradients: Gradients, areas: Optional[List[int]],
                      part: int) -> Tuple[Gradients, Optional[Gradients]]:
        count = len(self.inputs)
        of_inputs, of_parameters = gradients[:count], gradients[count:]
        if areas is not None and self.controller.gradient_areas.put(
                self.parameters, of_parameters, areas[part]):
            return of_inputs, None
        return of_inputs, of_parameters

    def viewed(self, value: Any) -> Tuple[Gradients, Optional[Gradients]]:
        of_inputs, of_parameters = value
        view = self.view_place
        return ([view(place, self.leaves[i].device) for place, i in zip(of_inputs, self.inputs)],
                None if of_parameters is None else
                [view(place, parameter.device)
                 for place, parameter in zip(of_parameters, self.parameters)])

    def view_place(self, place: Optional[Place], device: Any) -> Optional[torch.Tensor]:
        if place is None:
            return None
        return on_the_device(self.controller.memory.view(place),
                             self.device if device == "cuda" else device)

    def summed(self, found: Dict[int, Any],
               areas: Optional[List[int]]) -> Tuple[Gradients, Gradients]:
        parts = range(len(self.sizes))
        of_inputs = self.join_inputs([found[k][0] for k in parts])
        if areas is not None:
            rest = self.controller.gradient_areas.finish(self, [found[k][1] for k in parts])
            if rest is None:
                return of_inputs, [None] * len(self.parameters)
            return of_inputs, add_up(rest, len(self.parameters))
        return of_inputs, add_up([found[k][1] for k in parts], len(self.parameters))

    def join_inputs(self, by_part: Sequence[Gradients]) -> Gradients:
        """Gradients of the arguments of the whole call."""
        return join_inputs(by_part, [self.leaves[i] for i in self.inputs],
                           [self.verdict.dimensions.get(i) for i in self.inputs], self.sizes)

    # Again, alone.

    def again(self, of_outputs: Gradients) -> Tuple[Gradients, Gradients]:
        """All parts, from the saved arguments and with the same random numbers."""
        self.forget()
        if not self.is_alone:  # It has arguments of its own.
            self.check_arguments()
        self.controller.gradient_areas.settle()
        if self.verdict.exchanges and not self.is_alone:
            return self.again_together(of_outputs)
        count = len(self.inputs)
        of_inputs = []
        sums = RunningSum(len(self.parameters))
        for k in range(len(self.sizes)):
            with Current(self.controller, Part(self.controller.memory, 0, 1, 0, 0)):
                found = self.gradients_again(k, self.cut_gradients(of_outputs, k))
            of_inputs.append(found[:count])
            sums.add(found[count:])
        return self.join_inputs(of_inputs), sums.totals

    def gradients_again(self, part: int, of_outputs: Gradients) -> Gradients:
        """In smaller pieces, if memory does not suffice."""
        while True:
            try:
                if part not in self.kept:
                    self.compute_own(part)
                kept = self.kept[part] if self.is_alone else self.kept.pop(part)
                return kept.gradients(of_outputs, self.parameters, self.find_gradients)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error) or not self.can_divide_more():
                    raise
            kept = None  # Not before: the exception holds what did not fit.
            self.kept.pop(part, None)
            self.divide_more()

    def again_together(self, of_outputs: Gradients) -> Tuple[Gradients, Gradients]:
        """Parts that tell each other something must be computed side by side, by new replicas."""
        group = self.controller.group
        for _ in range(ATTEMPTS_MAX):
            if group.available(len(self.sizes), waits=True) < len(self.sizes):
                break
            changes = self.root.ready(self.module, len(self.sizes))
            if changes is None or group.count != len(self.sizes) - 1:
                break
            call = SplitCall(self.controller, self.root, self.verdict, self.spec, self.leaves,
                             self.sizes, self.seed, self.rows_max)
            call.settings = self.graph_settings()
            call.inputs = self.inputs
            call.is_repeated = True
            try:
                if group.verify(call, changes) is not None:
                    call.forget()
                    break
                call.forward(changes)
                return call.shared_backward(of_outputs)
            except (ReplicaLost, CallAborted, PartFailed):
                call.forget()
                self.controller.lose_replicas("backward")
        return self.whole_again(of_outputs, False)

    def whole_again(self, of_outputs: Gradients,
                    makes_graph: bool) -> Tuple[Gradients, Gradients]:
        """The same as one computation: for layers that look at all parts, and for gradients of
        gradients, which need the graph."""
        self.check_arguments()
        count = len(self.inputs)
        with torch.enable_grad():
            leaves = []
            for i, leaf in enumerate(self.leaves):
                if isinstance(leaf, torch.Tensor) and not (makes_graph and i in self.inputs):
                    leaf = leaf.detach().requires_grad_(i in self.inputs)
                leaves.append(leaf)
            wanted = [leaves[i] for i in self.inputs] + list(self.parameters)
            outputs = self.joined_outputs(leaves)
            pairs = [(output, gradient) for output, gradient in zip(outputs, of_outputs)
                     if gradient is not None and output.requires_grad]
            if not pairs or not wanted:
                return [None] * count, [None] * len(self.parameters)
            roots, gradients = zip(*pairs)
            found = torch.autograd.grad(roots, wanted, gradients, allow_unused=True,
                                        create_graph=makes_graph)
        return list(found[:count]), list(found[count:])

    def joined_outputs(self, leaves: Sequence[Any]) -> List[Any]:
        """Outputs of the whole, computed in one piece if a layer needs that, else by part, since
        each part has its own random numbers."""
        if self.verdict.exchanges or self.seed is None:
            with Current(self.controller, Part(self.controller.memory, 0, 1, 0, 0)):
                with seeded_part(self.seed, 0):
                    return compute(self.controller.call_module, self.module, self.spec, leaves,
                                   self.graph_settings())[0]
        by_part = []
        for k in range(len(self.sizes)):
            cut = [leaf if not isinstance(leaf, torch.Tensor)
                   or self.verdict.dimensions.get(i) is None
                   else leaf.narrow(self.verdict.dimensions[i], self.begins[k], self.sizes[k])
                   for i, leaf in enumerate(leaves)]
            with Current(self.controller, Part(self.controller.memory, 0, 1, 0, 0)):
                with seeded_part(self.seed, k):
                    by_part.append(compute(self.controller.call_module, self.module, self.spec,
                                           cut, self.graph_settings())[0])
        return [joined([part[number] for part in by_part], kind)
                for number, kind in enumerate(self.verdict.outputs)]

    def graph_settings(self) -> Settings:
        return self.settings.with_graph()

    def check_parameters(self) -> None:
        """Torch refuses this as well, where it finds it."""
        if any(tensor._version != version for tensor, version in self.tensor_versions):
            raise RuntimeError(
                f"rubato: parameters of {self.root.name} were changed in place between forward and "
                "backward, and a part that is computed in pieces has to be computed again")

    def check_arguments(self) -> None:
        for leaf, version in zip(self.leaves, self.versions):
            if version_of(leaf) != version:
                raise RuntimeError(
                    "rubato: an argument of the model was changed in place between forward and "
                    "backward, and the forward has to be computed again")


def version_of(leaf: Any) -> int:
    """Tensors of inference mode have none."""
    return leaf._version if isinstance(leaf, torch.Tensor) and not leaf.is_inference() else 0
