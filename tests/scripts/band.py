"""The band of a script: how far runs of the plain script are from each other.

A script whose result depends on rounding by 1 % cannot be asked for six digits, and one that does
not depend on it must not be given 1 %. So the script is run alone again with other roundings, or
with other random numbers where forward draws some, and the differences are what is allowed.
"""

from concurrent.futures import Executor
from typing import Dict, List, Tuple

from catalog import Entry
from compare import Rule
from harness import Runner, Setting
from outcome import Outcome

SEEDS = (11, 12, 13, 14)
PARTS = (2, 3, 4, 8)
# Kernels of an older processor: other blocks, other sums.
OLDER_KERNELS = {"OPENBLAS_CORETYPE": "Sandybridge", "DNNL_MAX_CPU_ISA": "AVX"}


def variants(entry: Entry) -> List[Setting]:
    """Of the plain run in single precision; the reference is not among them."""
    if entry.is_random:
        return [Setting(variables={"CORPUS_RESEED": str(seed)}) for seed in SEEDS]
    settings = [Setting(threads=2), Setting(variables=OLDER_KERNELS)]
    if entry.reorder != "none":
        settings.append(Setting(variables={"CORPUS_REVERSE": entry.reorder}))
    if entry.depends_on_parts:
        settings.extend(Setting(variables={"CORPUS_PARTS": str(parts)}) for parts in PARTS)
    return settings


class Bands:
    """Plain runs, each made once."""

    def __init__(self, runner: Runner, pool: Executor) -> None:
        self.runner = runner
        self.pool = pool
        self.known: Dict[Tuple[str, bool], Tuple[List[Outcome], Rule]] = {}

    def of(self, entry: Entry, is_double: bool) -> Tuple[List[Outcome], Rule]:
        """The plain runs, the reference first, and the rule that makes a band of them."""
        key = (entry.name, is_double)
        if key not in self.known:
            self.known[key] = self.measure(entry, is_double)
        return self.known[key]

    def measure(self, entry: Entry, is_double: bool) -> Tuple[List[Outcome], Rule]:
        if is_double:
            return [self.runner.alone(entry, Setting(is_double=True))], Rule("sharp")
        settings = [Setting(), *variants(entry)]
        reference, *others = self.pool.map(lambda s: self.runner.alone(entry, s), settings)
        # Older kernels cannot do everything.
        outcomes = [reference, *(one for one in others
                                 if one.exit_codes == reference.exit_codes)]
        return outcomes, Rule("statistical" if entry.is_random else "rounding")
