"""The life of a replica: a fork of the leader, made in the middle of a call of the script.

It answers requests for forward and backward of its parts, and while it has none it helps with what
is idle work for anybody. It never returns to the script.
"""

import os
import pickle
import traceback
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch
from torch import nn
from torch.utils._pytree import TreeSpec

from rubato.split.fingerprint import AttributeChange
from rubato.split.memory import Heap, Place, on_the_device
from rubato.split.memory_limits import is_out_of_memory
from rubato.split.output_path import BatchAxis, Step, apply_steps
from rubato.split.part import (GRAD, CallAborted, Current, Part, Settings, compute,
                               gradients_by_backward, gradients_of)
from rubato.split.part_losses import ORIGINALS
from rubato.split.pieces import PiecedPart, PiecePlan
from rubato.split.randomness import seed_part

IDLE_US = 20_000  # Between looks at whether the leader is alive.


class Input(NamedTuple):
    """A tensor argument of a part."""

    place: Place
    needs_gradient: bool
    device: str = "cpu"  # The kind of device that the part wants it on.


class Output(NamedTuple):
    """A tensor that a part has computed."""

    place: Place
    requires_grad: bool
    device: str = "cpu"  # The kind of device that it was computed on.


class Assigned(NamedTuple):
    """One part: its number in the call, its arguments, and how it is cut further, if it is."""

    number: int
    leaves: List[Any]
    plan: Optional[PiecePlan] = None


class Ranks(NamedTuple):
    """A worker's place in a call."""

    rank: int
    ranks: int
    generation: int
    sequence: int


class ForwardRequest(NamedTuple):
    root: int
    call: int
    dropped: List[int]  # Calls whose graphs are not needed any more.
    changes: List[AttributeChange]
    spec: TreeSpec
    parts: List[Assigned]
    settings: Settings
    seed: Optional[int]
    where: Ranks


class LossOfPart(NamedTuple):
    """Of an output of a part that has so many samples: what is done to it, then its loss."""

    output: int
    steps: List[Step]
    axes: List[BatchAxis]
    samples: int
    target: Any
    arguments: Dict[str, Any]


class LossRequest(NamedTuple):
    """For the sums of a loss over each part of a call."""

    call: int
    name: str
    parts: List[LossOfPart]


class BackwardRequest(NamedTuple):
    root: int
    call: int
    losses: List[Tuple[int, float]]  # Those of the parts that gradients begin at, with theirs.
    gradients: List[List[Optional[Place]]]  # Of the outputs, by part.
    by_backward: bool
    where: Ranks
    areas: Optional[List[int]]  # Where parameter gradients go, by part; nothing: to the heap.


class Reply(NamedTuple):
    """`values` by part; `error` is a traceback, empty if all went well."""

    values: List[Any]
    error: str = ""
    is_out_of_memory: bool = False


class KeptPart(NamedTuple):
    """What backward needs of a part's forward."""

    leaves: List[Any]
    outputs: List[Any]
    losses: List[torch.Tensor]  # Of the part's outputs.

    @property
    def devices(self) -> List[Any]:
        """Of the outputs."""
        return [getattr(output, "device", None) for output in self.outputs]

    def gradients(self, of_outputs: Sequence[Optional[torch.Tensor]],
                  parameters: Sequence[torch.Tensor], find: Any,
                  due: Sequence[Tuple[int, float]] = ()) -> List[Any]:
        """Of the inputs that need them, then of the parameters. Gradients begin at the outputs and
        at the losses that are due, by number, each with its own gradient."""
        inputs = [leaf for leaf in self.leaves
                  if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
        losses = [self.losses[number] for number, _ in due]
        of_losses = [torch.full_like(loss, gradient) for loss, (_, gradient) in zip(losses, due)]
        return find([*self.outputs, *losses], [*of_outputs, *of_losses],
                    inputs + list(parameters))

    def add_loss(self, name: str, wanted: LossOfPart) -> float:
        """The sum of a loss over the part, which is kept for backward."""
        with torch.enable_grad():
            output = apply_steps(wanted.steps, wanted.axes, self.outputs[wanted.output],
                                 wanted.samples)
            value = ORIGINALS[name](output, wanted.target, reduction="sum", **wanted.arguments)
        self.losses.append(value)
        return float(value.detach())


class Server:
    """In a replica."""

    def __init__(self, controller: Any, rank: int) -> None:
        self.controller = controller
        self.memory = controller.memory
        self.heap: Heap = self.memory.heap(rank)
        self.mailbox = self.memory.mailboxes[rank]
        self.parent = os.getppid()
        self.calls: Dict[int, List[Any]] = {}  # A KeptPart or a PiecedPart for each part.
        self.modules: Dict[int, nn.Module] = {}
        self.parameters: Dict[int, List[nn.Parameter]] = {}
        self.parts_of: Dict[int, List[nn.Module]] = {}
        for root in controller.roots.values():
            module = root.module()
            if module is not None:
                self.add_module(root.number, module)

    def add_module(self, root: int, module: nn.Module) -> None:
        self.modules[root] = module
        self.parameters[root] = [p for p in module.parameters() if p.requires_grad]
        self.parts_of[root] = list(module.modules())
        for parameter in self.parameters[root]:
            GRAD.__set__(parameter, None)
            parameter._backward_hooks = None  # They are the leader's, for the whole gradient.

    def serve(self) -> None:
        self.reset_modes()
        while True:
            data = self.controller.idle_work.wait(self.mailbox, IDLE_US)
            if data is None:
                if os.getppid() != self.parent:
                    os._exit(0)
                continue
            self.heap.clear()
            try:
                reply = self.answer(pickle.loads(data))
                if reply is not None:
                    self.mailbox.reply(pickle.dumps(reply, 4))
            except CallAborted:
                self.mailbox.reply(pickle.dumps(Reply([], "the call was given up"), 4))
            except BaseException as error:  # The script's code may raise anything.
                text, is_memory = traceback.format_exc()[-8192:], is_out_of_memory(error)
                error.__traceback__ = None  # It holds what did not fit.
                self.mailbox.reply(pickle.dumps(Reply([], text, is_memory), 4))

    def answer(self, request: Any) -> Optional[Reply]:
        if isinstance(request, ForwardRequest):
            return self.forward(request)
        if isinstance(request, LossRequest):
            return self.loss(request)
        return self.backward(request)

    @staticmethod
    def reset_modes() -> None:
        """The fork happened inside the script's own `with` blocks."""
        torch.set_autocast_cpu_enabled(False)
        torch.clear_autocast_cache()
        while torch.autocast_decrement_nesting() > 0:
            pass
        torch.set_grad_enabled(True)

    def part(self, where: Ranks) -> Part:
        return Part(self.memory, where.rank, where.ranks, where.generation, where.sequence)

    def forward(self, request: ForwardRequest) -> Reply:
        for call in request.dropped:
            self.calls.pop(call, None)
        for change in request.changes:
            self.parts_of[request.root][change.module].__dict__[change.name] = change.value
        torch.set_default_dtype(request.settings.default_dtype)
        module = self.modules[request.root]
        kept, values = [], []
        with Current(self.controller, self.part(request.where)):
            for assigned in request.parts:
                leaves = [self.input(leaf) for leaf in assigned.leaves]
                if assigned.plan is not None:
                    part = PiecedPart(self.controller, module, request.spec, request.settings,
                                      assigned.plan, leaves, request.seed, assigned.number)
                    values.append(self.placed_outputs(part.forward()))
                    kept.append(part)
                    continue
                seed_part(request.seed, assigned.number)
                outputs, _ = compute(self.controller.call_module, module, request.spec, leaves,
                                     request.settings)
                kept.append(KeptPart(leaves, outputs, []))
                values.append(self.placed_outputs(outputs))
        if request.settings.grad:
            self.calls[request.call] = kept
        return Reply(values)

    def input(self, leaf: Any) -> Any:
        if not isinstance(leaf, Input):
            return leaf
        tensor = self.memory.view(leaf.place)
        tensor = tensor.clone() if leaf.device == "cpu" else on_the_device(tensor, leaf.device)
        return tensor.requires_grad_(True) if leaf.needs_gradient else tensor

    def placed_outputs(self, outputs: Sequence[Any]) -> List[Any]:
        places = self.heap.put_all([output.detach() if isinstance(output, torch.Tensor) else None
                                    for output in outputs])
        return [output if place is None
                else Output(place, output.requires_grad, output.device.type)
                for output, place in zip(outputs, places)]

    def loss(self, request: LossRequest) -> Reply:
        values = []
        for kept, wanted in zip(self.calls[request.call], request.parts):
            arguments = {key: self.input(value) for key, value in wanted.arguments.items()}
            wanted = wanted._replace(target=self.input(wanted.target), arguments=arguments)
            values.append(kept.add_loss(request.name, wanted))
        return Reply(values)

    def backward(self, request: BackwardRequest) -> Reply:
        values = []
        parameters = self.parameters[request.root]
        find = gradients_by_backward if request.by_backward else gradients_of
        with Current(self.controller, self.part(request.where)):
            kept = self.calls.pop(request.call)
            for number, (part, gradients) in enumerate(zip(kept, request.gradients)):
                of_outputs = [self.gradient(place, device)
                              for place, device in zip(gradients, part.devices)]
                found = part.gradients(of_outputs, parameters, find, request.losses)
                area = request.areas[number] if request.areas is not None else None
                values.append(self.placed(request.root, found, len(found) - len(parameters),
                                          area))
        return Reply(values)

    def gradient(self, place: Optional[Place], device: Any) -> Optional[torch.Tensor]:
        return None if place is None else on_the_device(self.memory.view(place), device)

    def placed(self, root: int, found: Sequence[Optional[torch.Tensor]], inputs: int,
               area: Optional[int]) -> Tuple[List[Optional[Place]], Optional[List[Any]]]:
        """Where the gradients of inputs and of parameters lie; nothing for the latter if they
        went to their area."""
        of_inputs = self.heap.put_all(found[:inputs])
        of_parameters = found[inputs:]
        if area is not None and self.controller.gradient_areas.put(
                self.parameters[root], of_parameters, area):
            return of_inputs, None
        return of_inputs, self.heap.put_all(of_parameters)
