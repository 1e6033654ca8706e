"""What a check found, as values; `report.py` makes text of it."""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

AGREES = "agrees"  # Shared and plain runs compute the same, up to rounding.
DIFFERS = "differs"
FAILS = "fails"  # The script itself ends with an error in its first steps.
NOT_COMPARABLE = "not comparable"  # Two plain runs differ: there is nothing to compare with.
NOT_RUN = "not run"  # No step was seen in time, or nothing would protect the user's files.

EXIT_CODES = {AGREES: 0, DIFFERS: 65, FAILS: 65, NOT_COMPARABLE: 75, NOT_RUN: 75}


@dataclass
class RootFinding:
    """A module that the script calls."""

    name: str
    split: int
    unsplit: int
    reasons: List[str]


@dataclass
class Findings:
    """Of one script."""

    command: str
    verdict: str = NOT_RUN
    reason: str = ""  # Of a verdict that is not `agrees`.
    error: str = ""  # The script's own words.
    script_code: Optional[int] = None  # If the script ended within the dry run.
    steps: int = 0  # That were compared.
    worst: float = 0.0  # Difference, as a part of what is allowed.
    worst_place: str = ""
    is_bit_equal: bool = False
    is_settled_in_double: bool = False  # Beyond what rounding explains, but not so there.
    holds_constant: bool = False  # Random numbers of forward were.
    roots: List[RootFinding] = field(default_factory=list)
    notices: List[str] = field(default_factory=list)
    resizes: List[int] = field(default_factory=list)  # Workers, in turn.
    replicas_killed: int = 0
    leader_killed: bool = False
    not_tried: List[str] = field(default_factory=list)
    loops: Dict[str, Any] = field(default_factory=dict)
    step_seconds: Optional[float] = None  # In plain Python, one thread.
    speed_up: Optional[float] = None  # With two workers.
    speed_note: str = ""
    leader_bytes: int = 0
    replica_bytes: int = 0
    shared_bytes: int = 0
    protection: str = ""
    warnings: List[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]

    @property
    def shares(self) -> bool:
        return any(root.split for root in self.roots)
