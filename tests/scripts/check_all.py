"""Runs `rubato check` over the corpus and the examples: every verdict must be right, and in time.

    check_all.py --package build/python [--only NAME]... [--seconds 50] [--control]

All these scripts are right under Rubato (`run.py` says so), so the right verdict is exit code 0; of
those that use rubato.Trainer, 75: there is no plain run to compare with. Numbers of steps that are
said to be exact must be those of the catalog. With --control gradients of shared calls are made
wrong by one in a thousand: the verdict must then be 65 wherever calls are shared. Exit code 1 if
one is wrong.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

try:
    import torch  # noqa: F401
except ImportError:
    print("torch is not installed: skipped")
    sys.exit(0)

from catalog import CATALOG, Entry  # noqa: E402
from harness import core_type  # noqa: E402

EXAMPLES = (
    ("examples/criteo_like", "criteo_like/train.py", (), 75),
    ("examples/dictionary_lm", "dictionary_lm/train.py", (), 75),
    ("examples/fashion_mnist_sdk", "fashion_mnist_sdk/train.py", ("--limit", "6000"), 75),
    ("examples/fashion_mnist", "fashion_mnist/train.py", ("--limit", "6000"), 0),
)
PERTURBATION = "1e-3"
ENDING_SECONDS = 10.0  # That a check may take beyond its limit, until its last run has ended.


class Case(NamedTuple):
    """One script, and what is known of it."""

    name: str
    path: Path
    arguments: Sequence[str] = ()
    entry: Optional[Entry] = None
    code: int = 0


def cases() -> List[Case]:
    found = [Case(name, ROOT / "examples" / path, arguments, None, code)
             for name, path, arguments, code in EXAMPLES]
    return found + [Case(entry.name, HERE / f"{entry.name}.py", entry.runs[0], entry)
                    for entry in CATALOG]


def check(case: Case, package: str, seconds_max: float, variables: Dict[str, str]
          ) -> Dict[str, Any]:
    """What `rubato check --json` says, and how long it took. The script lies in a folder of its
    own, whose files must not change."""
    folder = Path(tempfile.mkdtemp(prefix="check-all-"))
    try:
        script = folder / case.path.name
        shutil.copytree(case.path.parent, folder, dirs_exist_ok=True)
        before = files_of(folder)
        kernels = {"OPENBLAS_CORETYPE": core_type()} if core_type() else {}
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "rubato.check", "--json", "--seconds", str(seconds_max), "--",
             str(script), *case.arguments],
            cwd=folder, env={**os.environ, **kernels, "PYTHONPATH": package,
                             "PYTHONDONTWRITEBYTECODE": "1", **variables},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        seconds = time.monotonic() - began
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            answer = {"verdict": "no answer", "reason": done.stderr[-500:], "roots": [],
                      "loops": {}}
        return {**answer, "code": done.returncode, "took": seconds,
                "changed": files_of(folder) != before}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def files_of(folder: Path) -> Dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file()}


def problems_of(case: Case, answer: Dict[str, Any], flags: Any) -> List[str]:
    problems = []
    shares = any(root["split"] for root in answer["roots"])
    wanted = 65 if flags.control and shares else case.code
    if answer["code"] != wanted:
        problems.append(f"exit code {answer['code']}, not {wanted}: {answer['verdict']}, "
                        f"{answer['reason']}")
    if answer["took"] > flags.seconds + ENDING_SECONDS:
        problems.append(f"took {answer['took']:.0f} s")
    if answer["changed"]:
        problems.append("files have changed")
    if flags.control:
        return problems
    loops = answer["loops"]
    # How far a script comes that is ended by an error, nobody can tell.
    is_told = loops.get("steps") is not None and case.entry is not None
    if is_told and len(case.entry.runs) == 1 and case.entry.exit_code != 1:
        inferred, steps = loops["steps"], case.entry.steps
        is_wrong = {"exact": inferred != steps, "at most": inferred < steps,
                    "at least": inferred > steps,
                    "about": abs(inferred - steps) > max(1, loops["epochs"] or 1),
                    "unknown": False}[loops["bound"]]
        if is_wrong:
            problems.append(f"{loops['bound']} {inferred} steps are {steps}")
    if case.entry is not None and case.entry.split in ("all", "part") and not shares:
        problems.append("nothing was shared")
    return problems


def line_of(case: Case, answer: Dict[str, Any], problems: List[str]) -> str:
    loops = answer.get("loops") or {}
    steps = (f"{loops['bound']} {loops['steps']}" if loops.get("steps") is not None
             else "steps unknown")
    reasons = "; ".join(sorted({reason for root in answer["roots"] for reason in root["reasons"]}))
    return (f"{case.name:32} {answer['verdict']:14} {'FAILED' if problems else 'ok':6} "
            f"{answer.get('worst', 0):8.2g} {answer['took']:5.1f} s  {steps:16} "
            f"{answer.get('speed_up')}  {reasons[:60]} {'; '.join(answer.get('not_tried', []))}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", default=str(ROOT / "build" / "python"))
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--seconds", type=float, default=50.0,
                        help="time limit of a check; it may take ten more to end")
    parser.add_argument("--control", action="store_true")
    flags = parser.parse_args()
    variables = {"RUBATO_TEST_PERTURB": PERTURBATION} if flags.control else {}
    wrong = 0
    for case in cases():
        if flags.only and not any(name in case.name for name in flags.only):
            continue
        answer = check(case, os.path.abspath(flags.package), flags.seconds, variables)
        problems = problems_of(case, answer, flags)
        wrong += bool(problems)
        print(line_of(case, answer, problems), flush=True)
        for problem in problems:
            print(f"    {problem}", flush=True)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
