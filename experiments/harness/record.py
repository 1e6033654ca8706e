"""What every experiment records: from which commit and program its numbers are, and where they go."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from pathlib import Path

from tables import Table, as_html, as_markdown

ROOT = Path(__file__).resolve().parent.parent.parent
MARKS = ("<!-- begin tables -->", "<!-- end tables -->")


def origin(binary: Path) -> str:
    """Commit, program and machine, for the result to name."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        found = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
        commit = found.stdout.strip() or "unknown"
    except (OSError, subprocess.SubprocessError):
        commit = "unknown"
    digest = hashlib.sha256(binary.read_bytes()).hexdigest()[:12]
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return f"commit: {commit}; binary sha256: {digest}; machine: {machine}"


def is_program(path: Path) -> bool:
    """Whether there is something to run."""
    return path.is_file() and os.access(path, os.X_OK)


def readme_is_current(readme: Path, markdown: str) -> bool:
    """Whether the tables in the README are the ones just made."""
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    start, end = (text.find(word) for word in MARKS)
    return start >= 0 and text[start + len(MARKS[0]) : end].strip() == markdown.strip()


def markdown_of(tables: list[Table]) -> str:
    """The tables as they stand in a README."""
    return "\n\n".join(as_markdown(table) for table in tables) + "\n"


def write_pages(stem: Path, title: str, preface: list[str], tables: list[Table]) -> None:
    """The tables as `stem`.md and `stem`.html."""
    stem.with_suffix(".md").write_text(markdown_of(tables), encoding="utf-8")
    stem.with_suffix(".html").write_text(as_html(tables, title, preface), encoding="utf-8")
