"""Random numbers inside a shared call.

The leader draws one number from its generator for each shared call that uses random numbers,
whatever the number of workers. A part's generator is seeded from that number and the part's index.
"""

import contextlib
import hashlib
from typing import Iterator, Optional

import torch

SEED_MASK = 2**62 - 1
PART_STRIDE = 1_000_003


def draw_seed(device: torch.device = torch.device("cpu")) -> int:
    """One draw from the script's own generator of the device that the module lies on."""
    if device.type == "cpu":
        return int(torch.empty((), dtype=torch.int64).random_()) & SEED_MASK
    # The number itself would have to be waited for; the state before it says as much.
    state = torch.cuda.get_rng_state(device)
    torch.empty((), dtype=torch.int64, device=device).random_()
    digest = hashlib.blake2b(state.numpy().tobytes(), digest_size=8).digest()
    return int.from_bytes(digest, "little") & SEED_MASK


def seed_part(seed: Optional[int], part: int) -> None:
    """In a replica, whose generator is its own."""
    if seed is not None:
        of_part = (seed + PART_STRIDE * (part + 1)) & SEED_MASK
        torch.default_generator.manual_seed(of_part)
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed(of_part)


@contextlib.contextmanager
def seeded_part(seed: Optional[int], part: int) -> Iterator[None]:
    """In the leader: the script's generator is as before afterwards."""
    if seed is None:
        yield
        return
    state = torch.get_rng_state()
    of_device = torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None
    seed_part(seed, part)
    try:
        yield
    finally:
        torch.set_rng_state(state)
        if of_device is not None:
            torch.cuda.set_rng_state(of_device)
