"""Random numbers as a function of (seed, step, shard).

Nothing of a generator's state has to be handed to newcomers, a step that is redone draws the same
numbers, and no two shards have the same dropout mask.
"""

import random
import sys

import torch

MASK = 2**64 - 1


def mixed(*numbers: int) -> int:
    """64 bits in which every bit of every number counts (the finalizer of SplitMix64)."""
    state = 0
    for number in numbers:
        state = (state + 0x9E3779B97F4A7C15 + number) & MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
        state ^= state >> 31
    return state


def reseed(seed: int, step: int, shard: int) -> None:
    """Seeds every generator that a script on a CPU usually draws from."""
    state = mixed(seed, step, shard)
    # `torch.manual_seed` would also queue a seed for CUDA, with a copy of the stack each time.
    torch.default_generator.manual_seed(state & (2**63 - 1))
    random.seed(state)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(state & 0xFFFFFFFF)
