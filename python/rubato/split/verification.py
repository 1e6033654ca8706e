"""Whether a replica that was made by value computes what the leader computes.

One part, alone, with its gradients for a random gradient of the outputs. On machines of the same
kind all bits must agree, unless the leader's own second attempt differs as well, as with kernels
that add in no fixed order; on others, and then, the results must agree up to rounding.
"""

from typing import Any, List, NamedTuple, Optional, Sequence

import torch

from rubato.split.part import Current, Part, compute
from rubato.split.randomness import seeded_part
from rubato.split.rehearsal import GRADIENT_SEED, SMALL_GRADIENT, TOLERANCE, is_far, norm_of
from rubato.split.replica import Assigned, BackwardRequest, ForwardRequest, Output, Ranks

ALONE = Ranks(0, 1, 0, 0)


class Computed(NamedTuple):
    """Of one part: outputs, and gradients of inputs and parameters."""

    outputs: List[Any]
    gradients: List[Optional[torch.Tensor]]


def random_gradients(outputs: List[Any]) -> List[Optional[torch.Tensor]]:
    generator = torch.Generator().manual_seed(GRADIENT_SEED)
    return [torch.randn(output.shape, generator=generator).to(output.device, output.dtype)
            if isinstance(output, torch.Tensor) and output.requires_grad else None
            for output in outputs]


def computed_here(call: Any, part: int) -> Computed:
    leaves = [leaf.requires_grad_(i in call.inputs) if isinstance(leaf, torch.Tensor) else leaf
              for i, leaf in enumerate(call.part_leaves(part))]
    with Current(call.controller, Part(call.controller.memory, *ALONE)):
        with seeded_part(call.seed, part):
            outputs, _ = compute(call.controller.call_module, call.module, call.spec, leaves,
                                 call.settings)
        gradients: List[Optional[torch.Tensor]] = []
        if call.settings.grad:
            gradients = call.find_gradients(outputs, random_gradients(outputs),
                                            [leaves[i] for i in call.inputs] + call.parameters)
    return Computed(outputs, gradients)


def computed_there(call: Any, replica: Any, changes: Sequence[Any], part: int,
                   here: Computed) -> Any:
    """The same by the replica, or its error as text."""
    call.controller.heap.clear()
    number = -call.number  # No call of the script has it.
    replica.request(ForwardRequest(call.root.number, number, [], list(changes), call.spec,
                                   [Assigned(part, call.placed_leaves(part))], call.settings,
                                   call.seed, ALONE))
    reply = replica.reply(call.own_seconds)
    if reply.error:
        return reply.error
    outputs = [call.view_place(value.place, value.device).clone()
               if isinstance(value, Output) else value for value in reply.values[0]]
    if not call.settings.grad:
        return Computed(outputs, [])
    call.controller.heap.clear()
    places = call.controller.heap.put_all(random_gradients(here.outputs))
    replica.request(BackwardRequest(call.root.number, number, [], [places],
                                    call.verdict.needs_backward, ALONE, None))
    reply = replica.reply(call.own_seconds)
    if reply.error:
        return reply.error
    of_inputs, of_parameters = call.viewed(reply.values[0])
    return Computed(outputs, of_inputs + of_parameters)


def has_same_bits(one: Computed, other: Computed) -> bool:
    pairs = zip([*one.outputs, *one.gradients], [*other.outputs, *other.gradients])
    return len(one.outputs) == len(other.outputs) and all(
        torch.equal(a, b) if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
        else a is b or a == b for a, b in pairs)


def agrees(one: Computed, other: Computed, least: float) -> bool:
    """Up to rounding."""
    if len(one.outputs) != len(other.outputs):
        return False
    sizes = [norm_of(g) for g in one.gradients if g is not None]
    scale = max(sizes, default=0.0) * SMALL_GRADIENT
    for a, b in zip([*one.outputs, *one.gradients], [*other.outputs, *other.gradients]):
        if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor):
            return False
        if isinstance(a, torch.Tensor):
            if a.shape != b.shape or is_far(b.detach(), a.detach(), scale, least):
                return False
        elif a != b:
            return False
    return True


def why_different(call: Any, replica: Any, changes: Sequence[Any],
                  is_same_kind: bool) -> Optional[str]:
    """In words; nothing if the replica computes the part as the leader does."""
    part = call.parts_of(call.replicas.index(replica) + 1)[0]
    here = computed_here(call, part)
    there = computed_there(call, replica, changes, part, here)
    if isinstance(there, str):
        lines = there.strip().splitlines()
        return f"a replica cannot compute it ({lines[-1][:200] if lines else 'no reason told'})"
    if has_same_bits(here, there):
        return None
    least = TOLERANCE[call.settings.autocast] if call.settings.autocast is not None else 0.0
    if not agrees(here, there, least):
        return "a replica that was made by value computes something else"
    if is_same_kind and has_same_bits(here, computed_here(call, part)):
        return ("a replica that was made by value differs from the leader in the last bits, on the "
                "same kind of machine")
    return None
