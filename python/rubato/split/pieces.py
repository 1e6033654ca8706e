"""A part that is too large for its worker's memory, computed in pieces, one after another.

Forward keeps no graph: of every piece only its outputs stay. Backward computes each piece again,
with the same random numbers, and adds its gradients to those of the pieces before. So one piece's
activations are in memory at a time, and the result is that of the part up to rounding.

Pieces whose losses divide by what counts in the whole batch (see part_losses.py) are computed once
more before: the counts of all pieces and of all other parts must be known first. Layers that
normalise by the whole batch cannot be computed so: their gradients need all pieces at once.
"""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch
from torch.utils._pytree import TreeSpec

from rubato.split.memory_limits import prefer_space_to_speed
from rubato.split.part import CallAborted, Current, Settings, compute
from rubato.split.randomness import seeded_part
from rubato.split.rehearsal import CONCATENATED, SUMMED, OutputKind, Verdict, piece_of

Gradients = List[Optional[torch.Tensor]]
PIECE_STRIDE = 1 << 16  # Between the numbers of pieces that random numbers are drawn by.


class PiecePlan(NamedTuple):
    """How a part is cut further, and how its pieces make up its outputs."""

    sizes: List[int]
    dimensions: Dict[int, Optional[int]]
    outputs: List[OutputKind]
    exchanges: bool

    def spans(self) -> Iterator[Tuple[int, int]]:
        begin = 0
        for size in self.sizes:
            yield begin, size
            begin += size


def plan_pieces(sizes: Sequence[int], owners: Sequence[int], verdict: Verdict,
                rows_max: Optional[int]) -> List[Optional[PiecePlan]]:
    """For each part, if its worker cannot keep the activations of all its parts at once. A part of
    so few rows that it fits alone is one piece: the same bits, computed twice."""
    plans: List[Optional[PiecePlan]] = []
    for size, owner in zip(sizes, owners):
        rows = sum(other for other, its in zip(sizes, owners) if its == owner)
        if rows_max is None or rows <= rows_max or verdict.normalises:
            plans.append(None)
            continue
        count = -(-size // rows_max)
        pieces = [size // count + (piece < size % count) for piece in range(count)]
        plans.append(PiecePlan(pieces, verdict.dimensions, verdict.outputs, verdict.exchanges))
    return plans


class PieceTurns:
    """While it is current, a piece tells what it has to tell, or gets what all have told."""

    def __init__(self, known: Optional[List[torch.Tensor]] = None) -> None:
        self.known = known
        self.told: List[torch.Tensor] = []
        self.updates: List[Any] = []

    def exchange(self, vector: torch.Tensor) -> torch.Tensor:
        self.told.append(vector)
        if self.known is None:
            return vector.unsqueeze(0)
        if len(self.told) > len(self.known):
            raise CallAborted("the pieces do not compute the same losses")
        return self.known[len(self.told) - 1]


class PiecedPart:
    """One part of one call, from its forward to its last backward."""

    def __init__(self, controller: Any, module: Any, spec: TreeSpec, settings: Settings,
                 plan: PiecePlan, leaves: Sequence[Any], seed: Optional[int],
                 number: int) -> None:
        self.controller, self.module, self.spec = controller, module, spec
        self.settings, self.plan = settings, plan
        self.leaves = list(leaves)  # Its own: the script may change its arguments meanwhile.
        self.seed, self.number = seed, number
        self.known: Optional[List[torch.Tensor]] = None  # What all pieces of all parts told.
        self.output_spec: Any = None
        self.devices: List[Any] = []  # Of the outputs.

    def cut(self, begin: int, size: int) -> List[Any]:
        found = []
        for i, leaf in enumerate(self.leaves):
            if isinstance(leaf, torch.Tensor):
                needs, dimension = leaf.requires_grad, self.plan.dimensions.get(i)
                leaf = leaf.detach()
                if dimension is not None:
                    leaf = leaf.narrow(dimension, begin, size)
                leaf.requires_grad_(needs)
            found.append(leaf)
        return found

    def run(self, piece: int, leaves: Sequence[Any], settings: Settings,
            turns: Optional[PieceTurns] = None) -> List[Any]:
        current = turns or (PieceTurns(self.known) if self.plan.exchanges
                            else self.controller.part)
        with Current(self.controller, current):
            with seeded_part(self.seed, self.number + PIECE_STRIDE * piece):
                outputs, self.output_spec = compute(self.controller.call_module, self.module,
                                                    self.spec, leaves, settings)
        return outputs

    # Forward.

    def forward(self) -> List[Any]:
        """The outputs of the part. Those that depend on what has gradients say so, but have no
        graph."""
        prefer_space_to_speed()
        if self.plan.exchanges:
            self.known = self.counts_of_all()
        by_piece: List[List[Any]] = []
        needs: List[bool] = []
        for piece, (begin, size) in enumerate(self.plan.spans()):
            # The graph of the first says which outputs have gradients; then it is dropped.
            settings = self.settings if piece == 0 else self.settings.without_graph()
            outputs = self.run(piece, self.cut(begin, size), settings)
            if piece == 0:
                needs = [isinstance(output, torch.Tensor) and output.requires_grad
                         for output in outputs]
            by_piece.append([output.detach() if isinstance(output, torch.Tensor) else output
                             for output in outputs])
            del outputs
        whole = [joined([outputs[number] for outputs in by_piece], kind)
                 for number, kind in enumerate(self.plan.outputs)]
        self.devices = [getattr(output, "device", None) for output in whole]
        return [output.requires_grad_() if needed else output
                for output, needed in zip(whole, needs)]

    def counts_of_all(self) -> List[torch.Tensor]:
        """By turn: what the parts of the call have told, each for all its pieces."""
        told: List[List[torch.Tensor]] = []
        for piece, (begin, size) in enumerate(self.plan.spans()):
            turns = PieceTurns()
            self.run(piece, self.cut(begin, size), self.settings.without_graph(), turns)
            told.append(turns.told)
        if any(len(one) != len(told[0]) for one in told):
            raise CallAborted("the pieces do not compute the same losses")
        part = self.controller.part
        return [part.exchange(torch.stack(list(turn)).sum(0)) for turn in zip(*told)]

    # Backward.

    def gradients(self, of_outputs: Sequence[Optional[torch.Tensor]],
                  parameters: Sequence[torch.Tensor], find: Any,
                  due: Sequence[Any] = ()) -> Gradients:
        """Of the inputs that need them, then of the parameters. No loss can be due: see
        `SplitCall.can_compute_losses`."""
        assert not due
        inputs = [i for i, leaf in enumerate(self.leaves)
                  if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
        of_inputs: List[Gradients] = []
        sums = RunningSum(len(parameters))
        for piece, (begin, size) in enumerate(self.plan.spans()):
            leaves = self.cut(begin, size)
            outputs = self.run(piece, leaves, self.settings.with_graph())
            cut = [piece_of(gradient, kind, begin, size, piece)
                   for gradient, kind in zip(of_outputs, self.plan.outputs)]
            found = find(outputs, cut, [leaves[i] for i in inputs] + list(parameters))
            del outputs
            of_inputs.append(found[:len(inputs)])
            sums.add(found[len(inputs):])
        return join_inputs(of_inputs, [self.leaves[i] for i in inputs],
                           [self.plan.dimensions.get(i) for i in inputs],
                           self.plan.sizes) + sums.totals


class RunningSum:
    """Of gradients, in the order in which they come; nothing where none has come. What comes alone
    is handed on as it is."""

    def __init__(self, count: int) -> None:
        self.totals: Gradients = [None] * count
        self.is_own = [False] * count

    def add(self, gradients: Sequence[Optional[torch.Tensor]]) -> None:
        for at, gradient in enumerate(gradients):
            if gradient is None:
                continue
            total = self.totals[at]
            if total is None:
                self.totals[at] = gradient
            elif self.is_own[at]:
                total += gradient
            else:
                self.totals[at] = total + gradient
                self.is_own[at] = True


def add_up(parts: Sequence[Gradients], count: int) -> Gradients:
    """Sums over the parts in their order, in new memory; nothing where no part has any."""
    sums = RunningSum(count)
    for part in parts:
        sums.add(part)
    return [total if total is None or is_own else total.clone()
            for total, is_own in zip(sums.totals, sums.is_own)]


def joined(values: Sequence[Any], kind: OutputKind) -> Any:
    """An output of the whole, in new memory."""
    if kind.kind == CONCATENATED:
        return torch.cat(list(values), kind.dimension)
    if kind.kind == SUMMED:
        return torch.stack(list(values)).sum(0)
    return values[0].clone() if isinstance(values[0], torch.Tensor) else values[0]


def join_inputs(by_part: Sequence[Gradients], inputs: Sequence[torch.Tensor],
                dimensions: Sequence[Optional[int]], sizes: Sequence[int]) -> Gradients:
    """Gradients of the arguments of the whole."""
    found: Gradients = []
    for at, (leaf, dimension) in enumerate(zip(inputs, dimensions)):
        pieces = [part[at] for part in by_part]
        if all(piece is None for piece in pieces):
            found.append(None)
        elif dimension is None:
            found.append(add_up([[piece] for piece in pieces], 1)[0])
        else:
            shape = list(leaf.shape)
            filled = []
            for size, piece in zip(sizes, pieces):
                shape[dimension] = size
                filled.append(leaf.new_zeros(shape) if piece is None else piece)
            found.append(torch.cat(filled, dimension))
    return found
