"""The command line of `rubato check`, which finds the interpreter and starts this."""

import argparse
import importlib.util
import os
import sys
from typing import List, Tuple

from rubato.check import findings as kinds
from rubato.check import report
from rubato.check.examination import Examination
from rubato.check.findings import Findings
from rubato.check.runs import Target

SECONDS = 50.0  # The last run may take some more; a verdict is there within 60.
SHORT_SECONDS = 20.0
# Options of the interpreter that have a value of their own.
VALUED_OPTIONS = ("-W", "-X", "--check-hash-based-pycs")


def target_of(words: List[str]) -> Target:
    """What follows the interpreter's name, options of the interpreter first."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "-m" and at + 1 < len(words):
            return Target(words[at + 1], words[at + 2:], is_module=True)
        if words[at] in ("-c", "-"):
            break
        at += 2 if words[at] in VALUED_OPTIONS else 1
    if at >= len(words) or words[at].startswith("-"):
        sys.exit("rubato check: expected a script or -m with a module")
    return Target(words[at], words[at + 1:])


def parsed(arguments: List[str]) -> Tuple[argparse.Namespace, Target]:
    parser = argparse.ArgumentParser(prog="rubato check")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("words", nargs=argparse.REMAINDER)
    flags = parser.parse_args(arguments)
    words = flags.words[1:] if flags.words[:1] == ["--"] else flags.words
    return flags, target_of(words)


def print_progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}" + (" ..." if text else ""))
        sys.stderr.flush()


def print_short(found: Findings) -> None:
    """What `rubato run` says before it asks for a promise."""
    for warning in found.warnings:
        print(f"rubato: WARNING: {warning}", file=sys.stderr)
    if found.verdict == kinds.AGREES:
        shared = ", ".join(root.name for root in found.roots if root.split)
        told = f"calls of {shared} are shared" if shared else "nothing of it can be shared"
        print(f"rubato: checked in {found.seconds:.0f} s: {told}", file=sys.stderr)
        return
    if found.error:
        print(found.error, file=sys.stderr)
    print(f"rubato: {report.verdict_text(found)}", file=sys.stderr)


def main(arguments: List[str]) -> int:
    flags, target = parsed(arguments)
    seconds = flags.seconds or (SHORT_SECONDS if flags.short else SECONDS)
    if not target.is_module and not os.path.isfile(target.main):
        print(f"rubato check: {target.main}: no such file", file=sys.stderr)
        return 65
    if importlib.util.find_spec("torch") is None:
        found = Findings(str(target), reason=f"{sys.executable} has no torch")
    else:
        found = Examination(target, seconds, flags.short, print_progress).examine()
        print_progress("")
    warning = report.wrong_steps(found.loops, flags.steps)
    if warning is not None:
        found.warnings.append(warning)
    if flags.json:
        sys.stdout.write(report.as_json(found))
    elif flags.short:
        print_short(found)
    else:
        sys.stdout.write(report.as_text(found))
    return found.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
