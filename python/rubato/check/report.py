"""What was found, as text for people and as JSON for programs."""

import json
from dataclasses import asdict
from typing import Any, Dict, List, Optional

from rubato.check import findings as kinds
from rubato.check.findings import Findings, RootFinding

BOUNDS = {"exact": "", "at most": "at most ", "at least": "at least ", "about": "about ",
          "unknown": "perhaps "}


def as_json(found: Findings) -> str:
    return json.dumps({**asdict(found), "exit_code": found.exit_code}, indent=1) + "\n"


def as_text(found: Findings) -> str:
    lines = [f"rubato check {found.command}", ""]
    if found.roots:
        lines += section("shared", [root_line(root) for root in found.roots if root.split])
        lines += section("not shared", not_shared(found.roots))
    if found.verdict not in (kinds.FAILS, kinds.NOT_RUN):
        lines += section("tried", [tried(found)])
    lines += section("not tried", found.not_tried)
    if found.loops:
        lines += section("steps", [steps_text(found.loops)])
    if found.step_seconds is not None:
        lines += section("speed", [speed_text(found)])
    if found.leader_bytes:
        lines += section("memory", [memory_text(found)])
    lines += section("note", found.notices)
    if found.error:
        lines += ["", *("  | " + line for line in found.error.splitlines())]
    for warning in found.warnings:
        lines += ["", f"  WARNING: {warning}"]
    return "\n".join([*lines, "", f"  {verdict_text(found)}", ""])


def section(title: str, entries: List[str]) -> List[str]:
    return [f"  {title if at == 0 else '':<11} {entry}" for at, entry in enumerate(entries)]


def root_line(root: RootFinding) -> str:
    calls = root.split + root.unsplit
    return f"{root.name} ({root.split} of {calls} calls in the dry run)"


def not_shared(roots: List[RootFinding]) -> List[str]:
    lines = []
    for root in roots:
        lines += [f"{root.name}: {reason}" for reason in root.reasons]
        if not root.split and not root.reasons:
            lines.append(f"{root.name}: it was called {times(root.unsplit)}, too few to try")
    return lines


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def tried(found: Findings) -> str:
    words = []
    if found.resizes:
        sizes = [1, *found.resizes]  # After a killed replica the same size comes again.
        changes = [after for before, after in zip(sizes, sizes[1:]) if before != after]
        words.append("workers 1 > " + " > ".join(str(to) for to in changes))
    if found.replicas_killed:
        words.append(f"a replica killed {times(found.replicas_killed)}")
    if found.leader_killed:
        words.append("the leader killed, resumed from a copy")
    return "; ".join([*words, f"{found.steps} steps compared"])


def count(number: int) -> str:
    return f"{number:,}"


def steps_text(loops: Dict[str, Any]) -> str:
    bound = BOUNDS[loops["bound"]]
    if loops["steps"] is None:
        known = (f"{count(loops['steps_per_epoch'])} per epoch; " if loops["steps_per_epoch"]
                 else "")
        return f"{known}how many in all cannot be told: {loops['why']}"
    if loops["steps_per_epoch"] is not None and loops["epochs"] is not None:
        return (f"{count(loops['steps_per_epoch'])} per epoch, {count(loops['epochs'])} epochs: "
                f"{bound}{count(loops['steps'])} steps")
    return f"{bound}{count(loops['steps'])} steps"


def speed_text(found: Findings) -> str:
    step = f"{found.step_seconds * 1e3:.1f} ms a step in plain Python on one core"
    if found.speed_up is None:
        return f"{step}; with two workers: {found.speed_note or 'not measured'}"
    note = f" ({found.speed_note})" if found.speed_note else ""
    return f"{step}; about {found.speed_up:.1f} times as fast with two workers{note}"


def memory_text(found: Findings) -> str:
    text = f"{megabytes(found.leader_bytes)} for the script"
    if found.replica_bytes:
        text += (f", {megabytes(found.replica_bytes)} for each further worker, "
                 f"{megabytes(found.shared_bytes)} shared")
    return text


def megabytes(size: int) -> str:
    return f"{max(1, round(size / 2**20))} MB"


def verdict_text(found: Findings) -> str:
    if found.verdict == kinds.AGREES:
        how = ("the same bits" if found.is_bit_equal else
               "in double precision; the script amplifies rounding" if found.is_settled_in_double
               else "the same up to rounding")
        more = ", random numbers of forward held constant" if found.holds_constant else ""
        return f"OK: shared and plain runs agree, {how}{more}; {found.seconds:.0f} s"
    names = {kinds.DIFFERS: "DIFFERENT", kinds.FAILS: "FAILS",
             kinds.NOT_COMPARABLE: "CANNOT BE COMPARED", kinds.NOT_RUN: "NOT CHECKED"}
    return f"{names[found.verdict]}: {found.reason}"


def wrong_steps(loops: Dict[str, Any], steps: int) -> Optional[str]:
    """What to tell a user whose number is not the script's."""
    if not loops or not steps or loops["steps"] is None:
        return None
    expected, bound = loops["steps"], loops["bound"]
    is_wrong = {"exact": steps != expected, "at most": steps > expected,
                "at least": steps < expected, "about": abs(steps - expected) > max(
                    1, loops["epochs"] or 1), "unknown": False}[bound]
    if not is_wrong:
        return None
    shape = ""
    if loops["steps_per_epoch"] is not None and loops["epochs"] is not None:
        shape = f" ({count(loops['steps_per_epoch'])} per epoch, {count(loops['epochs'])} epochs)"
    return (f"the script takes {BOUNDS[bound]}{count(expected)} steps{shape}, "
            f"and --steps says {count(steps)}")
