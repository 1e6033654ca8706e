"""Whether a loss is a mean over the samples of a batch, as it must be to be shared.

Gradients of workers are averaged by samples, so a loss that is a sum would shrink with every
worker that joins. What a loss is made of is read from its graph: each term has an extent, which is
how many elements are added up in it, times the constants it is scaled by. The extent of a mean
does not depend on how many samples there are; that of a sum does, unless it is divided by them.
So the terms of a part of a batch are compared with those of the whole batch of the rehearsal.

Masks and weights of samples are constants too, but their mean differs from part to part. A term
has a count beside its extent, which leaves them out: where the count says sum and the extent is
nearer to a sum than to a mean, it is one.
"""

import math
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch

SUM = 2  # How torch numbers reduction="sum".
TOLERANCE = 1e-3  # Of a ratio of extents; weights of samples are not exact.
TERMS_MAX = 4096

SUMMED_LOSS = (
    "the loss is a sum over the samples of a batch (torch's {}): with several workers each has "
    "only a part of the batch, and the gradient would be divided by their number. Take the mean, "
    'which reduction="mean" does, or divide by the samples of the batch as it was given out, and '
    "choose the learning rate accordingly"
)

# Neither adds up nor scales.
TRANSPARENT = (
    "Neg", "View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze", "Clone", "ToCopy", "Alias",
    "Mean", "T", "Transpose", "Permute",
)


class Term(NamedTuple):
    """A part of a loss that is added to the others."""

    kind: str
    extent: float
    count: float  # Without constants that are more than one number.
    scale: float  # The constants alone.
    is_loss: bool  # One of torch's losses, of something else than a parameter.
    is_sum: bool


def name_of(node: Any) -> str:
    return node.name().rpartition("::")[2].partition("Backward")[0]


def saved(node: Any, name: str) -> Any:
    """What a node keeps for the way back; nothing if it does not, or has changed since."""
    try:
        return getattr(node, f"_saved_{name}", None)
    except RuntimeError:
        return None


def magnitude(factor: Any) -> float:
    factor = factor.detach()
    return float((factor if factor.is_complex() else factor.double()).abs().mean())


def elements_added(node: Any) -> float:
    """How many elements become one."""
    sizes = saved(node, "self_sym_sizes") or saved(node, "self_sizes") or ()
    dimensions = saved(node, "dim") or range(len(sizes))
    # Some versions show the last dimension as 2**64 - 1.
    wrapped = [d - 2**64 if d > 2**63 else d for d in dimensions]
    return float(math.prod(int(sizes[d]) for d in wrapped))


def constant_factor(node: Any) -> Optional[Tuple[float, bool]]:
    """Of a product or quotient with something that is not trained; whether it is one number."""
    needs = [function is not None for function, _ in node.next_functions]
    if sum(needs) != 1:
        return None
    first = needs[0]
    other = saved(node, "other" if first else "self")
    if isinstance(other, (int, float)):
        other = torch.tensor(other)
    if not isinstance(other, torch.Tensor) or other.numel() == 0:
        return None
    value = magnitude(other)
    if name_of(node) == "Mul":
        return value, other.numel() == 1
    return (1 / value, other.numel() == 1) if first and value > 0 else None


def end_term(node: Any, extent: float, count: float, scale: float, is_sum: bool) -> Term:
    reduction = saved(node, "reduction")
    entries = saved(node, "self")
    is_sum_loss = reduction == SUM and isinstance(entries, torch.Tensor)
    if is_sum_loss:
        extent *= entries.numel()
        count *= entries.numel()
    inputs = [name_of(function) for function, _ in node.next_functions if function is not None]
    is_loss = reduction is not None and inputs[:1] != ["AccumulateGrad"]
    return Term(name_of(node), extent, count, scale, is_loss, is_sum or is_sum_loss)


def terms_of(loss: torch.Tensor) -> List[Term]:
    """What is added up in a loss, in the order of its graph."""
    found: List[Term] = []
    # Below a sum or mean, as the last entry says, additions are of elements and not of terms.
    stack: List[Tuple[Any, float, float, float, bool, bool]] = [
        (loss.grad_fn, 1.0, 1.0, 1.0, False, False)
    ]
    while stack and len(found) < TERMS_MAX:
        node, extent, count, scale, is_sum, is_inside = stack.pop()
        if node is None:
            continue
        name = name_of(node)
        inputs = [function for function, _ in node.next_functions]
        constant = constant_factor(node) if name in ("Mul", "Div") else None
        if name in ("Add", "Sub") and not is_inside:
            alpha = abs(float(saved(node, "alpha") or 1))
            factors = [1.0, alpha][: len(inputs)]
            stack += reversed([
                (i, extent * f, count * f, scale * f, is_sum, False)
                for i, f in zip(inputs, factors)
            ])
        elif name == "Sum":
            added = elements_added(node)
            stack.append((inputs[0], extent * added, count * added, scale, True, True))
        elif name in TRANSPARENT:
            stack.append((inputs[0], extent, count, scale, is_sum, is_inside or name == "Mean"))
        elif constant is not None:
            factor, is_number = constant
            rest = next(i for i in inputs if i is not None)
            count *= factor if is_number else 1.0
            stack.append((rest, extent * factor, count, scale * factor, is_sum, is_inside))
        else:
            found.append(end_term(node, extent, count, scale, is_sum))
    return found


def totals(terms: List[Term]) -> Dict[str, Term]:
    sums: Dict[str, Term] = {}
    for term in terms:
        before = sums.get(term.kind)
        if before is not None:
            term = term._replace(
                extent=before.extent + term.extent, count=before.count + term.count
            )
        sums[term.kind] = term
    return sums


def pairs(whole: List[Term], part: List[Term]) -> List[Tuple[Term, Term]]:
    """Terms that belong together: one by one, or by kind if there are more of them in one."""
    if [term.kind for term in whole] == [term.kind for term in part]:
        return list(zip(whole, part))
    before, after = totals(whole), totals(part)
    return [(before[kind], after[kind]) for kind in before if kind in after]


def grows(whole: Term, part: Term, expected: float) -> bool:
    """True if a term is as much smaller in a part as the part is smaller."""
    extent = part.extent / whole.extent
    if abs(extent / expected - 1) < TOLERANCE:
        return True
    is_counted = abs(part.count / whole.count / expected - 1) < TOLERANCE
    return is_counted and abs(math.log(extent / expected)) < abs(math.log(extent))


class LossWatch:
    """Compares the losses of parts with that of the rehearsal, until that has been done once."""

    def __init__(self) -> None:
        self.samples = 0  # Of the rehearsal.
        self.whole: List[Term] = []
        self.part: List[Term] = []
        self.is_trusted = False

    def sum_in(self, loss: torch.Tensor, samples: int) -> Optional[str]:
        """For a loop whose every loss is shown, before its gradients: the first one with several
        samples is the rehearsal."""
        if self.is_trusted:
            return None
        if not self.whole:
            self.rehearse(samples)
            self.on_rehearsal(loss)
            return self.sum_in_rehearsal()
        self.on_part(loss, samples)
        return self.sum_in_part(samples)

    def rehearse(self, samples: int) -> None:
        """A batch is given out that may turn out to be the first one of the training."""
        self.samples, self.whole = samples, []

    def on_rehearsal(self, loss: torch.Tensor) -> None:
        if self.samples > 1:
            self.whole += terms_of(loss)

    def sum_in_rehearsal(self) -> Optional[str]:
        """The term that certainly is a sum over the batch."""
        for term in self.whole:
            is_whole_loss = len(self.whole) == 1 and term.extent % self.samples == 0
            is_unscaled = abs(term.scale - 1) < TOLERANCE
            if term.is_sum and is_unscaled and (term.is_loss or is_whole_loss):
                return term.kind
        return None

    def on_part(self, loss: torch.Tensor, samples: int) -> None:
        if not self.is_trusted and self.whole and samples != self.samples:
            self.part += terms_of(loss)

    def sum_in_part(self, samples: int) -> Optional[str]:
        """The term that grows with the number of samples."""
        part, self.part = self.part, []
        if not part:
            return None
        expected = samples / self.samples
        for before, after in pairs(self.whole, part):
            if before.extent > 0 and after.extent > 0:
                if grows(before, after, expected):
                    return before.kind
                self.is_trusted = True
        return None
