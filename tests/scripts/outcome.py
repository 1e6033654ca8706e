"""What a run of a script left behind: exit code, output, files, and what the probe wrote."""

import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional

import torch

TENSOR_FILES = (".pt", ".pth")
SCRIPTED_FILES = (".ts",)


@dataclass
class Row:
    """Of the table that `rubato train` prints: a change of the workers."""

    cause: str
    workers: int
    step: int
    pause: float  # ms


@dataclass
class Outcome:
    """Of all runs of one script in one folder, one after the other."""

    exit_codes: List[int] = field(default_factory=list)
    stdout: str = ""
    stderr: str = ""
    files: Dict[str, bytes] = field(default_factory=dict)
    probe: Optional[Dict[str, Any]] = None  # Of the last run.
    steps: int = 0  # Of all runs.
    root_calls: int = 0
    reports: List[Dict[str, Any]] = field(default_factory=list)
    rows: List[Row] = field(default_factory=list)  # Of all runs.
    leader_deaths: int = 0
    group_deaths: int = 0  # Of all processes at once.
    suspensions: int = 0
    seconds: float = 0.0
    remarks: List[str] = field(default_factory=list)  # What went wrong around the script.


def files_of(folder: Path) -> Dict[str, bytes]:
    """Names relative to the folder, and contents."""
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent) / name
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def tensors_of_file(name: str, content: bytes) -> Optional[Dict[str, Any]]:
    """Tensors and plain values by their place in the file; None if it is not such a file."""
    if name.endswith(SCRIPTED_FILES):
        return dict(torch.jit.load(io.BytesIO(content)).state_dict())
    if not name.endswith(TENSOR_FILES):
        return None
    found: Dict[str, Any] = {}
    flatten(torch.load(io.BytesIO(content)), "", found)
    return found


def flatten(value: Any, place: str, found: Dict[str, Any]) -> None:
    if isinstance(value, torch.nn.Module):
        flatten(dict(value.state_dict()), place, found)
    elif isinstance(value, dict):
        for key, item in value.items():
            flatten(item, f"{place}/{key}", found)
    elif isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            flatten(item, f"{place}/{at}", found)
    else:
        found[place] = value
