"""What every experiment records: from which commit and program its numbers are, and where they go."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tables import Table, as_html, as_markdown, as_text

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


@dataclass
class Report:
    """What an experiment has to say. `stable` tables are the same each time and stand in the README."""

    name: str
    title: str
    preface: list[str]
    stable: list[Table]
    others: list[Table] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def show(self) -> None:
        """As text."""
        print("\n".join(self.preface))
        for table in [*self.stable, *self.others]:
            print("\n" + as_text(table))

    def write(self, folder: Path) -> None:
        """As JSON, HTML and Markdown."""
        tables = [*self.stable, *self.others]
        document = {
            "experiment": self.name,
            "provenance": self.preface,
            "results": self.rows,
            "tables": [vars(table) for table in tables],
        }
        stem = folder / self.name
        stem.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
        stem.with_suffix(".html").write_text(as_html(tables, self.title, self.preface), "utf-8")
        stem.with_suffix(".md").write_text(markdown_of(self.stable), "utf-8")
        print(f"\nwritten: {stem}.json, .html, .md")

    def conclude(self, folder: Path, readme: Path, missed: int) -> int:
        """Shows and writes all, says what is stale and missed, and returns the exit code."""
        self.show()
        self.write(folder)
        if not readme_is_current(readme, markdown_of(self.stable)):
            print(f"the tables in README.md are not these; they are in {folder}/{self.name}.md")
        print(f"bars missed: {missed}")
        return 1 if missed else 0
