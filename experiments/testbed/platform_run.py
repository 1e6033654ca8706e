"""`rubato up` as a child process, and what the testbed asks of it over REST."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from child import ChildFailed

STARTS_WITHIN = 60.0
PAGE = 200


@dataclass(frozen=True)
class Settings:
    """What live and simulated runs have in common; seconds."""

    cluster: str = "16x8"
    policy: str = "elasticflow"
    slot: float = 1.0
    pause: float = 0.5  # Of a start and of each change of workers, declared and planned.
    margin: float = 0.05
    margin_min: float = 0.25
    firm_quotes: float = 0.05  # Part of its time by which a job may end later than quoted; 0: forecasts.

    def words(self) -> list[str]:
        """As `rubato up` takes them."""
        words = ["--emulate", self.cluster, "--policy", self.policy, "--slot", f"{self.slot:g}"]
        words += ["--resize-pause", f"{self.pause:g}", "--margin", f"{self.margin:g}"]
        words += ["--firm-quotes", f"{self.firm_quotes:g}"]
        return [*words, "--margin-min", f"{self.margin_min:g}"]

    @property
    def nodes(self) -> int:
        """Of the cluster."""
        return int(self.cluster.split("x")[0])

    def planned(self, allowed: float) -> float:
        """The time that plans use of what a deadline allows, as the controller reckons."""
        return allowed - max(self.margin_min, allowed * self.margin)


def moment(text: str) -> float:
    """Seconds since 1970 of a moment as the server writes it."""
    whole, _, rest = text.rstrip("Z").partition(".")
    stamp = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return stamp.timestamp() + (float(f"0.{rest}") if rest else 0.0)


def text_of(seconds: float) -> str:
    """A moment as the server reads it."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Platform:
    """A platform that listens."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url

    def ask(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """One request; raises ChildFailed with what the server said."""
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data=data)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")
            raise ChildFailed(f"{path}: {error.code} {said}") from error
        except (OSError, ValueError) as error:
            raise ChildFailed(f"{path}: {error}") from error

    def jobs(self) -> list[dict[str, Any]]:
        """All of them, page by page."""
        found: list[dict[str, Any]] = []
        token = ""
        while True:
            page = self.ask(f"/v1/jobs?page_size={PAGE}" + (f"&page_token={token}" if token else ""))
            found += page["jobs"]
            token = page.get("next_page_token", "")
            if not token:
                return found


    def events(self) -> list[dict[str, Any]]:
        """All that happened so far."""
        found: list[dict[str, Any]] = []
        while True:
            since = found[-1]["sequence"] if found else "0"
            page = self.ask(f"/v1/events?since={since}&limit={PAGE}")["events"]
            if not page:
                return found
            found += page

    def await_nodes(self, nodes: int) -> None:
        """Until so many are up: their agent must have said hello."""
        until = time.monotonic() + STARTS_WITHIN
        while sum(node["up"] for node in self.ask("/v1/nodes")["nodes"]) < nodes:
            if time.monotonic() > until:
                raise ChildFailed(f"fewer than {nodes} nodes are up after {STARTS_WITHIN:g} s")
            time.sleep(0.05)


def _listening(process: subprocess.Popen[str], log: Path) -> str:
    """The address it prints once it serves."""
    until = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < until:
        found = re.search(r"listens on (\S+)", log.read_text(encoding="utf-8"))
        if found:
            return found.group(1)
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise ChildFailed(f"rubato up does not serve: {log.read_text(encoding='utf-8')[-300:]}")


def start(binary: Path, folder: Path, words: list[str]) -> Platform:
    """Starts it with its state in a folder; the port is any free one, or given in the words."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "up.log"
    if "--port" not in words:
        words = [*words, "--port", "0"]
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            [str(binary), "up", "--state", str(folder / "state"), *words],
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
    try:
        return Platform(process, _listening(process, log))
    except ChildFailed:
        process.kill()
        process.wait()
        raise


def end_conducts(state: Path) -> None:
    """Ends the processes that conduct jobs of a state directory: they outlive the platform."""
    jobs = str((state / "jobs").absolute()) + "/"
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if len(words) > 2 and words[1] == "conduct" and words[2].startswith(jobs):
                os.kill(int(entry.name), signal.SIGKILL)


@contextlib.contextmanager
def running(binary: Path, folder: Path, words: list[str]) -> Iterator[Platform]:
    """A platform for as long as the block lasts; it takes its jobs along."""
    platform = start(binary, folder, words)
    try:
        yield platform
    finally:
        platform.process.terminate()
        try:
            platform.process.wait(10)
        except subprocess.TimeoutExpired:
            platform.process.kill()
            platform.process.wait()
        end_conducts(folder / "state")
