"""Runs the corpus: each script alone and elastically, and compares.

    run.py [--quick | --all] [--only NAME]... [--seed N] [--events KIND] [--binary build/rubato]

One line is printed per script and mode: name, mode, share of split calls among those that there
was something to share of, verdict, worst deviation as a part of what is allowed, seconds, and
why calls were not split. Exit code 1 if one failed.
"""

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Tuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

try:
    import torch
except ImportError:
    print("torch is not installed: skipped")
    sys.exit(0)

from band import Bands  # noqa: E402
from catalog import CATALOG, Entry  # noqa: E402
from compare import Comparison, compare, summary  # noqa: E402
from harness import Events, Runner, Setting  # noqa: E402
from outcome import Outcome  # noqa: E402

EVENTS = ("none", "resizes", "kills", "leader", "group", "suspend", "mixed")
NEGATIVE_CONTROL = "updates/heads_take_turns"
PERTURBATION = "1e-3"
SPLIT_SHARE_MIN = 0.5  # Of the calls that could be, for a script to count as trained split.
STARTS = {  # What a script says that starts again.
    "the script goes on from step": "replayed",
    "the script goes on from a checkpoint of its own": "by its checkpoint",
    "the script starts from its beginning": "anew",
}


@dataclass
class Verdict:
    """On one script in one mode."""

    entry: Entry
    mode: str
    is_supervised: bool = False
    problems: List[str] = field(default_factory=list)
    worst: float = 0.0
    worst_place: str = ""
    split_calls: int = 0
    calls: int = 0
    reasons: List[str] = field(default_factory=list)
    seconds: float = 0.0
    starts: List[str] = field(default_factory=list)  # What became of them after the first.

    def line(self) -> str:
        share = f"{100 * self.split_calls / self.calls:3.0f} %" if self.calls else "  - %"
        verdict = "FAILED" if self.problems else "ok"
        reasons = f"  unsplit: {'; '.join(self.reasons)}" if self.reasons else ""
        return (f"{self.entry.name:32} {self.mode:5} {share} split  {verdict:6} "
                f"{self.worst:9.2g} of the band  {self.seconds:5.1f} s{reasons}"
                f"{''.join('  ' + start for start in self.starts)}")


def roots_of(outcome: Outcome) -> List[Dict[str, Any]]:
    return [root for report in outcome.reports for root in report["roots"]]


def check_sharing(entry: Entry, verdict: Verdict, events: Events, outcome: Outcome) -> None:
    """That the run was elastic at all, and that calls were split as the catalog says."""
    roots = roots_of(outcome)
    verdict.split_calls = sum(root["split"] for root in roots)
    verdict.calls = verdict.split_calls + sum(root["unsplit"] - root["untried"] for root in roots)
    verdict.reasons = sorted({reason for root in roots for reason in root["reasons"]})
    wants_split = entry.split in ("all", "part")
    if wants_split and not verdict.split_calls:
        verdict.problems.append("no call was split")
    if entry.split == "none" and verdict.split_calls:
        verdict.problems.append("calls were split, though they should not be")
    if entry.split == "all" and verdict.reasons:
        verdict.problems.append(f"not everything was split: {verdict.reasons}")
    is_told = not entry.reason or any(entry.reason in reason for reason in verdict.reasons)
    if not is_told:
        verdict.problems.append(f"{entry.reason!r} was not told as a reason")
    if (events.leader_kills or events.group_kills) and verdict.is_supervised:
        return  # The process that reports may not have seen what happened before.
    if wants_split and events.kills and not any(r["replica_deaths"] for r in outcome.reports):
        verdict.problems.append("no replica was killed, though some should have been")
    if wants_split and len(events.plan) > 1 and not any(r["resizes"] for r in outcome.reports):
        verdict.problems.append("there was no resize, though there should have been some")


def split_table(verdicts: List[Verdict]) -> List[str]:
    """How many scripts trained split, and why the others did not."""
    by_name: Dict[str, List[Verdict]] = {}
    for verdict in verdicts:
        by_name.setdefault(verdict.entry.name, []).append(verdict)
    lines = []
    for name, ones in by_name.items():
        calls = sum(one.calls for one in ones)
        share = sum(one.split_calls for one in ones) / max(1, calls)
        if share < SPLIT_SHARE_MIN:
            reasons = sorted({reason for one in ones for reason in one.reasons})
            why = "; ".join(reasons) or ("no reason told" if calls else "it calls no module")
            lines.append(f"  not split: {name}: {100 * share:.0f} % of its calls: {why}")
    count = len(by_name) - len(lines)
    total = 100 * count / max(1, len(by_name))
    return [f"trained split: {count} of {len(by_name)} scripts ({total:.0f} %)", *lines]


def check_starts(verdict: Verdict, outcome: Outcome) -> None:
    """Each start after the first has said how it came to where it goes on."""
    for line in outcome.stderr.splitlines():
        for beginning, word in STARTS.items():
            if line.startswith(f"rubato: {beginning}"):
                verdict.starts.append(f"{word} ({line.partition(', because ')[2]})"
                                      if ", because " in line else word)
    if any(start.startswith("by its checkpoint") for start in verdict.starts):
        # What it did before it has not seen; its steps and files are still those of a plain run.
        verdict.problems = [problem for problem in verdict.problems
                            if problem.startswith(("exit codes", "file", "alone"))
                            or " steps " in problem]
    if len(verdict.starts) != outcome.group_deaths or not outcome.group_deaths:
        verdict.problems.append(
            f"{len(verdict.starts)} starts after {outcome.group_deaths} deaths")


class Corpus:
    """Runs entries, several at once."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        binary = str(Path(options.binary).resolve()) if options.binary else None
        self.runner = Runner(str(Path(options.package).resolve()), binary)
        self.pool = ThreadPoolExecutor(options.jobs)
        self.plain_pool = ThreadPoolExecutor(options.jobs)
        self.bands = Bands(self.runner, self.plain_pool)

    def judge(self, entry: Entry, mode: str) -> Verdict:
        began = time.monotonic()
        is_double = mode == "sharp"
        plain, rule = self.bands.of(entry, is_double)
        verdict = Verdict(entry, mode, is_supervised=self.options.binary is not None)
        self.check_plain(entry, verdict, plain, is_double)
        runs = len(entry.runs)
        steps = plain[0].steps // runs
        calls = steps if self.options.binary else plain[0].root_calls // runs
        events = Events.drawn(self.options.events, calls, steps, self.options.seed)
        found = self.runner.elastic(entry, Setting(is_double=is_double), events, plain[0].seconds)
        comparison = compare(entry, plain, found, rule)
        self.take(verdict, comparison)
        if events.group_kills:
            check_starts(verdict, found)
        check_sharing(entry, verdict, events, found)
        if verdict.problems and self.options.keep:
            self.keep(entry, mode, found)
        verdict.seconds = time.monotonic() - began
        return verdict

    def check_plain(self, entry: Entry, verdict: Verdict, plain: List[Outcome],
                    is_double: bool) -> None:
        """The catalog against the script itself."""
        wanted = [entry.exit_code] * len(entry.runs)
        if plain[0].exit_codes != wanted:
            verdict.problems.append(f"alone: exit codes {plain[0].exit_codes}, not {wanted}")
        if not is_double and plain[0].steps != entry.steps:
            verdict.problems.append(f"alone: {plain[0].steps} steps, not {entry.steps}")
        if not any(line.startswith("FINAL") for line in plain[0].stdout.splitlines()):
            verdict.problems.append("alone: no line FINAL")

    def take(self, verdict: Verdict, comparison: Comparison) -> None:
        verdict.problems += comparison.problems
        verdict.worst, verdict.worst_place = comparison.worst, comparison.worst_place

    def keep(self, entry: Entry, mode: str, found: Outcome) -> None:
        folder = Path(self.options.keep)
        folder.mkdir(parents=True, exist_ok=True)
        text = f"{found.exit_codes}\n{found.stdout}\n--- stderr\n{found.stderr}\n{found.reports}\n"
        (folder / f"{entry.name.replace('/', '-')}.{mode}.txt").write_text(text)

    def negative_control(self) -> Verdict:
        """With gradients that are wrong by a little, the sharp comparison must fail."""
        began = time.monotonic()
        entry = next(entry for entry in CATALOG if entry.name == NEGATIVE_CONTROL)
        plain, rule = self.bands.of(entry, True)
        setting = Setting(is_double=True, variables={"RUBATO_TEST_PERTURB": PERTURBATION})
        found = self.runner.elastic(entry, setting, Events(), plain[0].seconds)
        comparison = compare(entry, plain, found, rule)
        verdict = Verdict(entry, "wrong", worst=comparison.worst)
        is_caught = any(problem.startswith("tensor") for problem in comparison.problems)
        if not is_caught:
            verdict.problems.append("wrong gradients were not noticed")
        verdict.seconds = time.monotonic() - began
        return verdict

    def run(self, work: List[Tuple[Entry, str]]) -> int:
        began = time.monotonic()
        futures = [self.pool.submit(self.judge, entry, mode) for entry, mode in work]
        if not self.options.only:
            futures.append(self.pool.submit(self.negative_control))
        failed, verdicts = 0, []
        for future in futures:
            verdict = future.result()
            verdicts.append(verdict)
            print(verdict.line(), flush=True)
            for problem in summary(verdict.problems):
                print(f"    {problem}", flush=True)
            failed += bool(verdict.problems)
        for line in split_table(verdicts):
            print(line)
        took = time.monotonic() - began
        print(f"{len(futures) - failed} passed, {failed} failed, seed {self.options.seed}, "
              f"events {self.options.events}, {took:.0f} s")
        return 1 if failed else 0


def modes_of(entry: Entry, mode: str) -> List[str]:
    """Sharp where the script allows it, else its band."""
    if mode == "sharp":
        return ["sharp"] if entry.is_sharp else []
    if mode == "both":
        return ["band", "sharp"] if entry.is_sharp else ["band"]
    if mode == "one":
        return ["sharp"] if entry.is_sharp else ["band"]
    return ["band"]


def chosen(options: argparse.Namespace) -> List[Tuple[Entry, str]]:
    entries = [entry for entry in CATALOG if not options.quick or entry.is_quick]
    if options.only:
        entries = [entry for entry in CATALOG
                   if any(name in entry.name for name in options.only)]
    mode = options.mode or ("one" if options.quick else "both")
    return [(entry, each) for entry in entries for each in modes_of(entry, mode)]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--quick", action="store_true", help="a few scripts, in double precision")
    group.add_argument("--all", action="store_true", help="all scripts (the default)")
    parser.add_argument("--only", action="append", default=[], help="scripts whose name has this")
    parser.add_argument("--seed", type=int, default=1, help="of the events")
    parser.add_argument("--events", choices=EVENTS, default="mixed")
    parser.add_argument("--mode", choices=("sharp", "band", "both", "one"))
    parser.add_argument("--jobs", type=int, default=2, help="scripts at once")
    parser.add_argument("--binary", help="run scripts by this program's verb train, instead of "
                        "python3 -m rubato.split, which has no supervisor")
    parser.add_argument("--keep", help="folder for the output of runs that failed")
    parser.add_argument("--package", default=default_package(),
                        help="folder from which rubato is imported")
    return parser.parse_args()


def default_package() -> str:
    """What this process was given, else the package of this checkout."""
    given = os.environ.get("PYTHONPATH", "").split(":")[0]
    return given or str(HERE.parents[1] / "python")


if __name__ == "__main__":
    torch.set_num_threads(1)
    arguments = parse()
    sys.exit(Corpus(arguments).run(chosen(arguments)))
