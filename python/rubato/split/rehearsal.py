"""The check that a kind of call can be cut into parts, made in a forked child.

The whole batch is compared with two uneven parts (a third and two thirds find means over the batch
that halves would hide): outputs first, then gradients of inputs and parameters for a random
gradient of the outputs. Random numbers are replaced by constants meanwhile. In double precision
too, where rounding hides nothing, if the script's code takes that; there also with other parameters
and samples, since these may hide what comes later (hidden.py).
"""

import contextlib
import functools
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch
from torch import nn
from torch.utils._pytree import TreeSpec

from rubato.split import child, decisions, effects, hidden
from rubato.split.constants import Constants, why_shared
from rubato.split.fingerprint import ATOMS
from rubato.split.memory import tensors_of, why_not_shareable
from rubato.split.part import (CallAborted, Current, Settings, compute, gradients_by_backward,
                               gradients_of)

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 5e-2}
ABSOLUTE = 1e-9
# Where a model of single precision is tried in double: code of its own may still round to single.
TOLERANCE_IN_DOUBLE = 2e-6
OTHER_ARGUMENTS_MAX = 4  # Whose dimension is tried both ways.
GRADIENT_SEED = 7
AUDIT_FIRST_CALL = 16  # Shared calls before a verdict is tried on a later batch: see audit.py.
SMALL_GRADIENT = 1e-3  # Of the largest one: below it rounding of others decides.

CONCATENATED, SAME, SUMMED, VALUE = "concatenated", "same", "summed", "value"


SINGLE = "the batch is a single sample"
OF_PARAMETERS = "gradients of the parts do not add up to those of the batch"
OF_INPUTS = "gradients of a part's inputs are not those of the batch"
UNDECIDED = "an output is zero, which says nothing about how parts make it up"


class OutputKind(NamedTuple):
    """How an output of the whole follows from those of the parts."""

    kind: str
    dimension: int = 0


class Verdict:
    """Whether and how one kind of call of a module is cut."""

    def __init__(self, reason: Optional[str] = None) -> None:
        self.reason = reason  # Why it is not split; nothing if it is.
        self.dimensions: Dict[int, Optional[int]] = {}  # By argument: where it is cut.
        self.outputs: List[OutputKind] = []
        self.is_random = False
        self.exchanges = False  # Its parts tell each other something while they are computed.
        self.normalises = False  # By the whole batch: parts have to be computed side by side.
        self.needs_backward = False  # Its graph refuses `autograd.grad`.
        self.reads: List[effects.GlobalRead] = []
        self.is_final = True  # Otherwise the next call is tried again.
        self.calls = 0  # That were shared on it.
        self.audit_at = AUDIT_FIRST_CALL


def as_real(tensor: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs: as real ones they would lose their imaginary parts."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def norm_of(tensor: torch.Tensor) -> float:
    return as_real(tensor).double().norm().item()


def is_far(one: torch.Tensor, other: torch.Tensor, scale: float = 0.0,
           least: float = 0.0) -> bool:
    """True if the first is not the second up to rounding, in norm."""
    if not one.is_floating_point() and not one.is_complex():
        return not torch.equal(one, other)
    one, other = as_real(one), as_real(other)
    tolerance = max(TOLERANCE.get(one.dtype, 1e-4), least)
    one, other = one.double(), other.double()
    size = max(other.norm().item(), scale)
    if size != size or size == float("inf"):
        return not torch.allclose(one, other, tolerance, ABSOLUTE, equal_nan=True)
    return not (one - other).norm().item() <= tolerance * size + ABSOLUTE


class TriedPart:
    """A part that is computed before or after the others instead of beside them."""

    def __init__(self, told: Optional[List[List[torch.Tensor]]] = None) -> None:
        self.told: List[torch.Tensor] = []
        self.by_part = told

    def exchange(self, vector: torch.Tensor) -> torch.Tensor:
        self.told.append(vector)
        if self.by_part is None:
            return vector.unsqueeze(0)
        turn = len(self.told) - 1
        if any(len(told) <= turn for told in self.by_part):
            raise CallAborted("the parts do not compute the same losses")
        return torch.stack([told[turn] for told in self.by_part])


class Rehearsal:
    """Of one call; lives in the child."""

    def __init__(self, controller: Any, module: nn.Module, spec: TreeSpec,
                 leaves: Sequence[Any], settings: Settings) -> None:
        self.controller, self.call_module = controller, controller.call_module
        self.module, self.spec = module, spec
        self.leaves, self.settings = list(leaves), settings
        self.tensors = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        self.gradients = gradients_of
        self.exchanges = False
        self.drawn: List[List[int]] = []  # Random numbers, by part.
        # At least; what is computed in a lower precision is rounded accordingly.
        self.least = TOLERANCE[settings.autocast] if settings.autocast is not None else 0.0
        self.tolerance = self.least

    def is_far(self, one: torch.Tensor, other: torch.Tensor, scale: float = 0.0) -> bool:
        return is_far(one, other, scale, self.tolerance)

    def verdict(self) -> Verdict:
        reason = self.why_hopeless()
        if reason is not None:
            return Verdict(reason)
        effects.make_private(self.module)
        if self.settings.grad:  # First: a graph that was there before has only one backward.
            reason = decisions.why_it_looks_outside(self.module, lambda: self.run(self.leaves))
            if reason is not None:
                return Verdict(reason)
        reason, reads = effects.find_effects(self.module, self.run_through)
        if reason is not None:
            return Verdict(reason)
        norms = effects.batch_norms(self.module) + effects.norms_without_statistics(self.module)
        for layer in norms:
            effects.fix_statistics(layer)  # Those of all parts are those of the whole.
        verdict = self.try_all()
        verdict.exchanges = verdict.exchanges or bool(norms)
        verdict.normalises = bool(norms)
        verdict.reads = reads
        return verdict

    def why_hopeless(self) -> Optional[str]:
        hooked = effects.why_hooked(self.module)
        if hooked is not None:
            return hooked
        for leaf in self.leaves:
            if not isinstance(leaf, (torch.Tensor, *ATOMS)):
                return f"an argument is a {type(leaf).__name__}"
            if isinstance(leaf, torch.Tensor) and why_not_shareable(leaf):
                return f"an argument {why_not_shareable(leaf)}"
        for tensor in tensors_of(self.module):
            if why_not_shareable(tensor):
                return f"it {why_not_shareable(tensor)}"
        if not self.tensors or self.leaves[self.tensors[0]].dim() == 0:
            return "no argument is a tensor that could be cut"
        return None

    def run(self, leaves: Sequence[Any]) -> Tuple[List[Any], List[Any], TreeSpec]:
        """Inputs as leaves of a new graph, outputs, and their structure."""
        own = []
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                needs = leaf.requires_grad and self.settings.grad
                leaf = leaf.detach().clone().requires_grad_(needs)
            own.append(leaf)
        versions = [leaf._version for leaf in own if isinstance(leaf, torch.Tensor)]
        Constants.draws = []
        outputs, spec = compute(self.call_module, self.module, self.spec, own, self.settings)
        if versions != [leaf._version for leaf in own if isinstance(leaf, torch.Tensor)]:
            raise CallAborted("forward changes its arguments in place")
        return own, outputs, spec

    def run_through(self) -> None:
        """Forward, and backward if the call has one: hooks and functions of the script's may do
        something then."""
        own, outputs, _ = self.run(self.leaves)
        if not self.settings.grad:
            return
        wanted = [own[i] for i in self.tensors if own[i].requires_grad] + self.parameters
        try:
            self.gradients(outputs, self.random_gradients(outputs), wanted)
        except RuntimeError as error:
            if self.gradients is gradients_by_backward or "heckpoint" not in str(error):
                raise
            self.gradients = gradients_by_backward
            self.run_through()  # What there was of the graph is used up.

    @staticmethod
    def random_gradients(outputs: Sequence[Any]) -> List[Optional[torch.Tensor]]:
        generator = torch.Generator().manual_seed(GRADIENT_SEED)
        return [torch.randn(output.shape, generator=generator).to(output.device, output.dtype)
                if isinstance(output, torch.Tensor) and output.requires_grad else None
                for output in outputs]

    def run_parts(self, leaves: Sequence[Sequence[Any]]) -> List[Any]:
        """What the parts tell each other is found by a first run of each, which is enough if that
        is nothing."""
        told, found = [], []
        self.drawn = []
        for own in leaves:
            with Current(self.controller, TriedPart()) as part:
                found.append(self.run(own))
            told.append(part.told)
            self.drawn.append(Constants.draws)
        if not any(told):
            return found
        self.exchanges = True
        found = []
        for own in leaves:
            with Current(self.controller, TriedPart(told)):
                found.append(self.run(own))
        return found

    def cuts(self) -> Iterator[Tuple[int, Dict[int, Optional[int]]]]:
        """Batch sizes and dimensions that are worth a try, the likeliest first."""
        first = self.leaves[self.tensors[0]]
        for dimension in range(min(2, first.dim())):
            size = first.shape[dimension]
            if size < 2:
                continue
            found: Dict[int, Optional[int]] = {}
            for i in self.tensors:
                shape = self.leaves[i].shape
                order = [dimension] + [d for d in range(len(shape)) if d != dimension]
                found[i] = next((d for d in order if d < len(shape) and shape[d] == size), None)
            others = [i for i in self.tensors[1:] if found[i] is not None][:OTHER_ARGUMENTS_MAX]
            for chosen in sorted(range(1 << len(others)), key=lambda c: (bin(c).count("1"), c)):
                whole = {other for at, other in enumerate(others) if chosen >> at & 1}
                yield size, {i: None if i in whole else d for i, d in found.items()}

    def try_all(self) -> Verdict:
        """The first cut that works, or why the first did not."""
        first_reason: Optional[str] = None
        for size, dimensions in self.cuts():
            verdict = self.try_cut(size, dimensions)
            if verdict.reason in (OF_PARAMETERS, OF_INPUTS):
                # A unit that rounding switches on or off has another gradient, and is no coupling.
                verdict = self.settled_in_double(verdict, size, dimensions)
            elif verdict.reason is None:
                verdict.reason = self.try_in_double(
                    functools.partial(self.reason_to_refuse, size, dimensions))
            if verdict.reason is None:
                decided = self.unless_it_decides(verdict)
                if decided.reason is not None:
                    return decided
                verdict.reason = self.why_later(size, verdict)
                if verdict.reason is None:
                    return verdict
            first_reason = first_reason or verdict.reason
        if first_reason is None or self.leaves[self.tensors[0]].shape[0] == 1:
            return Verdict(SINGLE)
        verdict = Verdict(first_reason)
        verdict.is_final = first_reason != UNDECIDED
        return verdict

    def unless_it_decides(self, verdict: Verdict) -> Verdict:
        """Batches to come may be decided about otherwise than this one."""
        cut = [self.leaves[i] for i, d in verdict.dimensions.items() if d is not None]
        why = decisions.why_it_decides(cut, lambda: self.run(self.leaves))
        return verdict if why is None else Verdict(why)

    def try_cut(self, size: int, dimensions: Dict[int, Optional[int]]) -> Verdict:
        Constants.drew = False
        for gradients in (gradients_of, gradients_by_backward):
            self.gradients = gradients
            try:
                verdict = self.compare(size, dimensions)
                verdict.needs_backward = gradients is gradients_by_backward
                return verdict
            except CallAborted as error:
                return Verdict(str(error))
            except RuntimeError as error:
                if gradients is gradients_of and "heckpoint" in str(error):
                    continue
                return Verdict(f"a part cannot be computed alone ({short(error)})")
            except Exception as error:  # The script's code may raise anything.
                return Verdict(f"a part cannot be computed alone ({short(error)})")
        return Verdict("its gradients cannot be computed part by part")

    def settled_in_double(self, verdict: Verdict, size: int,
                          dimensions: Dict[int, Optional[int]]) -> Verdict:
        """The verdict in double precision, if the module has parameters in single and takes it."""
        if self.settings.autocast is not None or not any(
                t.dtype == torch.float32 for t in tensors_of(self.module)):
            return verdict
        found: List[Verdict] = []

        def compare() -> Optional[str]:
            found.append(self.compare(size, dimensions))
            return None

        self.try_in_double(compare)
        if not found:
            return verdict
        found[0].needs_backward = verdict.needs_backward
        return found[0]

    def reason_to_refuse(self, size: int, dimensions: Dict[int, Optional[int]]) -> Optional[str]:
        return self.compare(size, dimensions).reason

    def why_later(self, size: int, verdict: Verdict) -> Optional[str]:
        """What may show when the first steps have been taken, or on other batches."""
        reason = hidden.why_others_notice(self, size, verdict)
        if reason is None and self.settings.autocast is None:
            reason = self.try_in_double(functools.partial(hidden.with_other_parameters, self, size,
                                                          verdict.dimensions))
        return reason

    def try_in_double(self, find: Callable[[], Optional[str]]) -> Optional[str]:
        """What only shows without rounding; nothing also where double precision is not taken."""
        try:
            with self.in_double():
                return find()
        except Exception:  # Its code insists on single precision.
            return None

    @contextlib.contextmanager
    def in_double(self) -> Iterator[None]:
        """Parameters, buffers and arguments of single precision in double; none with autocast."""
        kept, default = self.leaves, torch.get_default_dtype()
        data = [(t, t.data) for t in tensors_of(self.module) if t.dtype == torch.float32]
        if not data or self.settings.autocast is not None:
            yield
            return
        try:
            for tensor, values in data:
                tensor.data = values.double()
            self.leaves = [leaf.double() if isinstance(leaf, torch.Tensor)
                           and leaf.dtype == torch.float32 else leaf for leaf in kept]
            torch.set_default_dtype(torch.float64)
            self.tolerance = TOLERANCE_IN_DOUBLE
            yield
        finally:
            torch.set_default_dtype(default)
            self.tolerance = self.least
            self.leaves = kept
            for tensor, values in data:
                tensor.data = values

    def compare(self, size: int, dimensions: Dict[int, Optional[int]]) -> Verdict:
        first = max(1, size // 3)
        spans = ((0, first), (first, size - first))
        with Constants():
            whole, drawn = self.run(self.leaves), Constants.draws
            parts = self.run_parts([
                [leaf if dimensions.get(i) is None else leaf.narrow(dimensions[i], begin, length)
                 for i, leaf in enumerate(self.leaves)] for begin, length in spans])
        verdict = Verdict(why_shared(drawn, self.drawn))
        if verdict.reason is not None:
            return verdict
        verdict.dimensions = dict(dimensions)
        verdict.is_random = Constants.drew
        verdict.exchanges = self.exchanges
        for number, output in enumerate(whole[1]):
            kind = self.output_kind(number, output, [part[1] for part in parts], spans, size)
            if isinstance(kind, str):
                return Verdict(kind)
            verdict.outputs.append(kind)
        if any(part[2] != whole[2] for part in parts):
            return Verdict("the structure of the outputs depends on the batch")
        if shares_memory(whole[1], whole[0], self.module):
            return Verdict("an output shares its memory with an input, a parameter or another "
                           "output")
        if self.settings.grad:
            verdict.reason = self.compare_gradients(verdict, whole, parts, spans)
        return verdict

    def output_kind(self, number: int, output: Any, parts: Sequence[Sequence[Any]],
                    spans: Sequence[Tuple[int, int]], size: int) -> Any:
        """The kind, or why there is none."""
        if any(len(part) <= number for part in parts):
            return "the number of outputs depends on the batch"
        pieces = [part[number] for part in parts]
        if not isinstance(output, torch.Tensor):
            is_alike = isinstance(output, ATOMS) and all(
                type(piece) is type(output) and piece == output for piece in pieces)
            return OutputKind(VALUE) if is_alike else (
                f"output {number} is no tensor and depends on the batch")
        if not all(isinstance(piece, torch.Tensor) for piece in pieces):
            return f"output {number} is not always a tensor"
        if output.layout != torch.strided:
            return f"output {number} is a sparse tensor"
        for dimension in range(output.dim()):
            shape = list(output.shape)
            fits = shape[dimension] == size and all(
                list(piece.shape) == [*shape[:dimension], length, *shape[dimension + 1:]]
                for piece, (_, length) in zip(pieces, spans))
            if fits and not self.is_far(torch.cat(pieces, dimension), output):
                return OutputKind(CONCATENATED, dimension)
        is_alike = all(piece.shape == output.shape for piece in pieces)
        is_same = is_alike and all(not self.is_far(piece, output) for piece in pieces)
        is_sum = (is_alike and output.dim() == 0 and output.is_floating_point()
                  and not self.is_far(sum(pieces), output))
        if is_same and is_sum:
            return UNDECIDED
        if is_same:
            return OutputKind(SAME)
        if is_sum:
            return OutputKind(SUMMED)
        if output.dim() == 0:
            return (f"output {number} is one number for the whole batch, and not a sum over "
                    "samples or a mean by one of torch's own losses")
        return f"output {number} of a part is not that part of the output of the batch"

    def compare_gradients(self, verdict: Verdict, whole: Any, parts: Any,
                          spans: Sequence[Tuple[int, int]]) -> Optional[str]:
        of_outputs = self.random_gradients(whole[1])
        inputs = [i for i in self.tensors if whole[0][i].requires_grad]
        with Constants():  # Activation checkpoints compute forward again.
            expected = self.gradients(whole[1], of_outputs,
                                      [whole[0][i] for i in inputs] + self.parameters)
            found = []
            for rank, ((begin, length), part) in enumerate(zip(spans, parts)):
                cut = [piece_of(gradient, kind, begin, length, rank)
                       for gradient, kind in zip(of_outputs, verdict.outputs)]
                found.append(self.gradients(part[1], cut, [part[0][i] for i in inputs]
                                            + self.parameters))
        return self.compare_sums(verdict, inputs, expected, found)

    def compare_sums(self, verdict: Verdict, inputs: Sequence[int], expected: Sequence[Any],
                     found: Sequence[Sequence[Any]]) -> Optional[str]:
        if any(g is not None and g.is_sparse for one in (expected, *found) for g in one):
            return "its gradients are sparse"
        largest = max((norm_of(g) for g in expected if g is not None), default=0.0)
        scale = largest * SMALL_GRADIENT
        for at, gradient in enumerate(expected):
            pieces = [part[at] for part in found]
            if gradient is None or all(piece is None for piece in pieces):
                if (gradient is None) != all(piece is None for piece in pieces):
                    return "a part does not use the parameters that the batch uses"
                continue
            if at < len(inputs) and verdict.dimensions[inputs[at]] is not None:
                if any(piece is None for piece in pieces):
                    return "gradients of the inputs of a part are missing"
                total = torch.cat(pieces, verdict.dimensions[inputs[at]])
            else:
                total = sum(piece for piece in pieces if piece is not None)
            if self.is_far(total, gradient, scale):
                return OF_PARAMETERS if at >= len(inputs) else OF_INPUTS
        return None


def piece_of(gradient: Optional[torch.Tensor], kind: OutputKind, begin: int, length: int,
             rank: int) -> Optional[torch.Tensor]:
    """What of an output's gradient belongs to a part."""
    if gradient is None:
        return None
    if kind.kind == CONCATENATED:
        return gradient.narrow(kind.dimension, begin, length)
    return gradient if rank == 0 or kind.kind == SUMMED else None


def shares_memory(outputs: Sequence[Any], inputs: Sequence[Any], module: nn.Module) -> bool:
    """True if a change of an output in place would show elsewhere. Slices of one tensor do not
    overlap."""
    def tensors(values: Sequence[Any]) -> List[torch.Tensor]:
        return [v for v in values if isinstance(v, torch.Tensor) and v.numel() > 0]

    addresses = [output.data_ptr() for output in tensors(outputs)]
    storages = {output.storage().data_ptr() for output in tensors(outputs)}
    others = {t.storage().data_ptr() for t in tensors([*inputs, *tensors_of(module)])}
    return len(set(addresses)) != len(addresses) or bool(others & storages)


def short(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:100]}" if text else type(error).__name__


def rehearse(controller: Any, module: nn.Module, spec: TreeSpec, leaves: Sequence[Any],
             settings: Settings) -> Verdict:
    """The verdict on this kind of call. The script notices nothing of it."""
    def tried() -> Verdict:
        controller.become_replica()
        return Rehearsal(controller, module, spec, leaves, settings).verdict()

    found = child.run_in_child(tried)
    if isinstance(found, Exception):
        return Verdict(f"it cannot be tried out ({found})")
    return found


def rehearse_in_background(controller: Any, module: nn.Module, spec: TreeSpec,
                           leaves: Sequence[Any], settings: Settings,
                           is_waited_for: bool) -> child.BackgroundChild:
    """The same while the script goes on, which may use the memory of its arguments again."""
    def tried() -> Verdict:
        controller.become_replica()
        own = [leaf.detach().clone().requires_grad_(leaf.requires_grad)
               if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        return Rehearsal(controller, module, spec, own, settings).verdict()

    return child.BackgroundChild(tried, is_waited_for)
