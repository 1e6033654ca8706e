"""Deals random blows to scripts that train under `rubato train`; each must end as if alone.

    blows.py [--binary build/rubato] [--blows 200] [--seed N] [--perturb 1e-3]

Blows are resizes, replicas killed in forward and in backward, the process of the script killed
while a copy of it sleeps, and suspensions of everything. Only those count that are seen to have
happened. Runs go on, script after script, until there were enough of them. Prints the seed, a line
per run, and at the end blows by kind, the pauses of resizes, and PASS or FAIL per script; exit code
1 if one failed. With --perturb gradients are wrong by that factor, so that all must fail; one such
run is made in any case, to see that a wrong result is noticed.
"""

import argparse
import math
import random
import statistics
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, Tuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

try:
    import torch
except ImportError:
    print("torch is not installed: skipped")
    sys.exit(0)

from band import Bands  # noqa: E402
from catalog import Entry, by_name  # noqa: E402
from compare import compare, summary  # noqa: E402
from harness import Events, Runner, Setting  # noqa: E402
from outcome import Outcome, Row  # noqa: E402

SCRIPTS = ("data/zip_two_loaders", "files/early_stopping_best", "loops/kfold",
           "losses/contrastive_infonce", "modules/batchnorm_convnet",
           "modules/keyword_dict_inputs", "sequences/lstm_carried_state", "sequences/small_gpt",
           "updates/ema_dict", "updates/gan_two_optimizers")
RESIZE, FORWARD, BACKWARD, LEADER, SUSPEND = (
    "resize", "replica in forward", "replica in backward", "leader", "suspend")
# How often each is drawn. The death of a leader costs seconds, that of a replica milliseconds.
WEIGHTS = {RESIZE: 9, FORWARD: 4, BACKWARD: 4, LEADER: 2, SUSPEND: 2}
BLOWS_OF_A_RUN = 12
RUNS_MAX_FACTOR = 3  # So many times the runs that would be enough if every blow hit.
WORKERS = (1, 2, 2, 3, 3, 4)
FIRST_STEP = 6  # By then calls are shared and a copy of the leader sleeps.
LAST_STEPS = 3  # Too close to the end for a blow to be sure to hit.
COPY_EVERY = 4  # Steps.
PERTURBATION = 1e-3


def drawn(generator: random.Random, steps: int, calls: int) -> Events:
    """Each blow at a step of its own; replicas are killed by call, at the step it is likely in."""
    places = range(FIRST_STEP, steps - LAST_STEPS)
    chosen = sorted(generator.sample(places, min(BLOWS_OF_A_RUN, len(places))))
    kinds = generator.choices(list(WEIGHTS), list(WEIGHTS.values()), k=len(chosen))
    events = Events(plan=[(0, 2)])
    for step, kind in zip(chosen, kinds):
        if kind == RESIZE:
            others = [workers for workers in WORKERS if workers != events.plan[-1][1]]
            events.plan.append((step, generator.choice(others)))
        elif kind == LEADER:
            events.leader_kills.append(step)
        elif kind == SUSPEND:
            events.stops.append(step)
        else:
            events.call_kills.append((step * calls // steps, "F" if kind == FORWARD else "B"))
    return events


def resizes(outcome: Outcome, events: Events) -> List[Row]:
    """Rows of the resizes that were asked for: replicas are also made anew after a death, and when
    the script has changed what they must know."""
    found = []
    for at, (step, workers) in enumerate(events.plan[1:], 1):
        until = events.plan[at + 1][0] if at + 1 < len(events.plan) else math.inf
        row = next((row for row in outcome.rows[1:] if row.cause == f"resize to {workers}"
                    and step <= row.step <= until), None)
        found += [] if row is None else [row]
    return found


def happened(outcome: Outcome, events: Events) -> Counter:
    """Blows by kind, as far as they are seen to have hit. The table cuts long causes off."""
    causes = [row.cause for row in outcome.rows]
    return Counter({RESIZE: len(resizes(outcome, events)),
                    FORWARD: sum("lost in forward" in cause for cause in causes),
                    BACKWARD: sum("lost in backw" in cause for cause in causes),
                    LEADER: outcome.leader_deaths, SUSPEND: outcome.suspensions})


class Blows:
    """All runs and what came of them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        binary = str(Path(options.binary).resolve())
        self.runner = Runner(str(Path(options.package).resolve()), binary)
        self.bands = Bands(self.runner, ThreadPoolExecutor(2))
        self.counts: Counter = Counter()
        self.pauses: List[float] = []  # Of resizes, ms.
        self.problems: Dict[str, List[str]] = {name: [] for name in SCRIPTS}
        self.runs: Counter = Counter()

    def strike(self, entry: Entry, generator: random.Random, factor: float
               ) -> Tuple[Outcome, Events]:
        """One run; its problems are added."""
        plain, rule = self.bands.of(entry, True)
        variables = {"RUBATO_COPY_EVERY": str(COPY_EVERY)}
        if factor:
            variables["RUBATO_TEST_PERTURB"] = str(factor)
        events = drawn(generator, plain[0].steps, plain[0].root_calls)
        setting = Setting(is_double=True, variables=variables)
        found = self.runner.elastic(entry, setting, events, plain[0].seconds)
        comparison = compare(entry, plain, found, rule)
        self.problems[entry.name] += comparison.problems
        return found, events

    def run(self) -> int:
        generator = random.Random(self.options.seed)
        print(f"seed {self.options.seed}", flush=True)
        entries = by_name()
        runs_max = RUNS_MAX_FACTOR * -(-self.options.blows // BLOWS_OF_A_RUN)
        for number in range(max(runs_max, len(SCRIPTS))):
            if sum(self.counts.values()) >= self.options.blows and number >= len(SCRIPTS):
                break
            self.run_one(entries[SCRIPTS[number % len(SCRIPTS)]], generator)
        if not self.options.perturb:
            self.control(entries[SCRIPTS[-1]], generator)
        return self.report()

    def run_one(self, entry: Entry, generator: random.Random) -> None:
        began, before = time.monotonic(), len(self.problems[entry.name])
        found, events = self.strike(entry, generator, self.options.perturb)
        blows = happened(found, events)
        self.counts += blows
        self.runs[entry.name] += 1
        self.pauses += [row.pause for row in resizes(found, events)]
        problems = self.problems[entry.name][before:]
        print(f"{entry.name:32} {sum(blows.values()):3} blows  {'FAIL' if problems else 'ok':4}  "
              f"{time.monotonic() - began:5.1f} s", flush=True)
        for problem in summary(problems):
            print(f"    {problem}", flush=True)
        if problems and self.options.keep:
            folder = Path(self.options.keep)
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{entry.name.replace('/', '-')}.blows.{self.runs[entry.name]}.txt"
            path.write_text(f"{found.stdout}\n--- stderr\n{found.stderr}\n"
                            + "\n".join(map(str, found.rows)))

    def control(self, entry: Entry, generator: random.Random) -> None:
        before = len(self.problems[entry.name])
        self.strike(entry, generator, PERTURBATION)
        added = self.problems[entry.name][before:]
        del self.problems[entry.name][before:]
        is_noticed = any(problem.startswith("tensor") for problem in added)
        self.problems["(wrong gradients are noticed)"] = [] if is_noticed else ["they were not"]

    def report(self) -> int:
        print()
        for name, problems in self.problems.items():
            print(f"{'FAIL' if problems else 'PASS'}  {name}"
                  + (f", {self.runs[name]} runs" if name in self.runs else ""))
        total = sum(self.counts.values())
        print("\nblows: " + ", ".join(f"{kind} {self.counts[kind]}" for kind in WEIGHTS)
              + f", in all {total}")
        if self.pauses:
            print(f"pause of a resize: median {statistics.median(self.pauses):.1f} ms, "
                  f"maximum {max(self.pauses):.1f} ms, of {len(self.pauses)}")
        failed = sum(bool(problems) for problems in self.problems.values())
        missed = [kind for kind in WEIGHTS if not self.counts[kind]]
        if total < self.options.blows or missed and total >= len(SCRIPTS) * len(WEIGHTS):
            print(f"too few blows hit: {total} of {self.options.blows}; none of: {missed}")
            failed += 1
        print(f"{'FAIL' if failed else 'PASS'}, seed {self.options.seed}")
        return 1 if failed else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(HERE.parents[1] / "build" / "rubato"))
    parser.add_argument("--package", default=str(HERE.parents[1] / "build" / "python"))
    parser.add_argument("--blows", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--perturb", type=float, default=0.0)
    parser.add_argument("--keep", help="folder for the output of runs that failed")
    return parser.parse_args()


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(Blows(parse()).run())
