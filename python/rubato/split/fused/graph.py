"""Which shared calls a backward will reach, and whether their parameters get all of their gradient
from there."""

from typing import Any, List, Set, Tuple

import torch

from rubato.split.call import SplitCall
from rubato.split.graph_node import SplitFunction

NODES_MAX = 100  # Beyond, the graph above the calls is not looked through.


def calls_below(tensor: torch.Tensor) -> List[SplitCall]:
    """The calls whose parameters are reached by nothing else; none if the graph is too large."""
    calls, leaves, is_complete = walk(tensor.grad_fn)
    if not is_complete:
        return []
    found = []
    for number, call in enumerate(calls):
        own = {id(parameter) for parameter in call.parameters}
        others = (other for at, other in enumerate(calls) if at != number)
        if own & leaves or any(own & {id(p) for p in other.parameters} for other in others):
            continue
        # A hook wants to see the whole gradient.
        if any([parameter._backward_hooks for parameter in call.parameters]):
            continue
        found.append(call)
    return found


def walk(root: Any) -> Tuple[List[SplitCall], Set[int], bool]:
    """Calls and leaves below a node. The parameters of a call are no leaves: what they get, they
    get from the call."""
    kind = SplitFunction._backward_cls
    calls: List[SplitCall] = []
    leaves: Set[int] = set()
    seen = {root}
    stack = [root] if root is not None else []
    while stack:
        node = stack.pop()
        below = node.next_functions
        if isinstance(node, kind):
            calls.append(node.call)
            below = below[:node.tensors]
        elif hasattr(node, "variable"):
            leaves.add(id(node.variable))
        for other, _ in below:
            if other is not None and other not in seen:
                seen.add(other)
                stack.append(other)
        if len(seen) > NODES_MAX:
            return [], set(), False
    return calls, leaves, True
