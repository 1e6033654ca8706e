#!/usr/bin/env python3
"""Kills `rubato up` with SIGKILL at random instants while jobs train; nothing may be lost by it.

Emulated jobs and jobs of tests/programs/counting_trainer.cc train, some under promises. After each
kill the platform is started again with the same state. Checked: every job submitted is known and
ends well, none is run by two processes or begun again, no committed step is lost (steps never go
back, each job ends with all of its steps, and a counting job fails by itself if a sample was not
used as often as it should), workers make steps while the platform is down, and no promise is
broken. Prints its seed, a line per kill and a summary; exits 1 if a check failed, 2 if nothing
could be run.

  tools/soak_live.py [--kills 100] [--seed N] [--between 3] [--down 2] [--binary build/rubato]
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "experiments" / "testbed"), str(ROOT / "experiments" / "harness")]

from child import ChildFailed  # noqa: E402
from platform_run import Platform, end_conducts, start  # noqa: E402

OVER = ("SUCCEEDED", "FAILED", "CANCELLED", "REJECTED")
SLOTS = "8"
SETTLES_WITHIN = 120.0
# Of a counting job.
SAMPLES, BATCH, SHARDS, STEP_SECONDS = 640, 32, 8, 0.05


class Soak:
    """One run: the platform, its jobs, and what was seen of them."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.arguments = arguments
        self.folder = folder
        self.random = random.Random(arguments.seed)
        self.faults: list[str] = []
        self.restarts: list[float] = []
        self.progress: dict[str, float] = {}  # Highest steps seen, by job.
        self.submitted: dict[str, dict[str, Any]] = {}
        self.ends: dict[str, str] = {}  # What was said of the end of a job, by job.
        self.begun_again: set[str] = set()
        self.conductors_max = 0
        self.gaps = 0  # Jobs that were watched while the platform was down, over all kills.
        self.platform: Platform | None = None

    def fault(self, text: str) -> None:
        """Something that must not be."""
        self.faults.append(text)
        print(f"FAULT: {text}", flush=True)

    def up(self) -> Platform:
        """Starts the platform; how long until it serves is noted."""
        began = time.monotonic()
        words = ["--slots", SLOTS, "--slot", "0.5"]
        self.platform = start(self.arguments.binary, self.folder, words)
        while True:
            try:
                self.platform.ask("/v1/jobs?page_size=1")
                break
            except ChildFailed:
                if time.monotonic() - began > 60:
                    raise
                time.sleep(0.01)
        self.restarts.append(time.monotonic() - began)
        log = (self.folder / "up.log").read_text(encoding="utf-8")
        if "decided otherwise" in log:
            self.fault(f"the replay differs: {log.strip()}")
        return self.platform

    def kill(self) -> None:
        """As a crash would."""
        assert self.platform is not None
        self.platform.process.send_signal(signal.SIGKILL)
        self.platform.process.wait()

    def emulated(self, seconds: float) -> dict[str, Any]:
        """A job whose steps sleep."""
        speed = self.random.choice([5.0, 10.0, 20.0])
        return {
            "kind": "emulated",
            "steps": max(1, round(seconds * speed)),
            "speeds": [{"workers": n, "steps_per_second": speed * n**0.8} for n in (1, 2, 4)],
            "workers": {"listed": [1, 2, 4]},
        }

    def counting(self, seconds: float) -> dict[str, Any]:
        """A job that trains, and counts how often each sample was used."""
        epochs = max(1, round(seconds / STEP_SECONDS * BATCH / SAMPLES))
        numbers = [SAMPLES, BATCH, epochs, SHARDS, round(STEP_SECONDS * 1e6)]
        return {
            "command": [str(self.arguments.counting), *map(str, numbers)],
            "steps": epochs * SAMPLES // BATCH,
            "speeds": [{"workers": n, "steps_per_second": 0.8 / STEP_SECONDS} for n in (1, 2)],
            "workers": {"min": 1, "max": 2},
        }

    def submit(self, platform: Platform) -> None:
        """One more job, with a promise or without."""
        seconds = self.random.uniform(5, 40)
        counts = self.arguments.counting.is_file() and self.random.random() < 0.4
        body = self.counting(seconds) if counts else self.emulated(seconds)
        body["name"] = f"soak-{len(self.submitted)}"
        if self.random.random() < 0.5:
            body["deadline"] = f"{int(seconds * 6 + 60)}s"
        job = platform.ask("/v1/jobs", body)["job"]
        self.submitted[job["id"]] = body
        if job["state"] == "REJECTED":
            self.ends[job["id"]] = "REJECTED"

    def look(self, jobs: list[dict[str, Any]]) -> int:
        """Checks what the platform says of its jobs; how many train or wait."""
        known = {job["id"]: job for job in jobs}
        for job_id in self.submitted:
            if job_id not in known:
                self.fault(f"job {job_id} is lost")
        for job_id in known:
            if job_id not in self.submitted:
                self.fault(f"job {job_id} was never submitted")
        still_open = 0
        for job_id, job in known.items():
            done, before = job["steps_done"], self.progress.get(job_id, 0.0)
            # A kill may hit between an order and its obedience: then nothing has begun yet.
            if job.get("restarts", 0) > 0 and job_id not in self.begun_again:
                self.begun_again.add(job_id)
                if before > 0:
                    self.fault(f"job {job_id} was begun again after {before:g} steps")
            if done < before:
                self.fault(f"job {job_id} had done {before:g} steps and now {done:g}")
            self.progress[job_id] = max(done, before)
            if job["state"] in OVER:
                told = self.ends.setdefault(job_id, job["state"])
                if told != job["state"]:
                    self.fault(f"job {job_id} was {told} and is {job['state']}")
            else:
                still_open += 1
                if job_id in self.ends:
                    self.fault(f"job {job_id} was over and is {job['state']}")
        return still_open

    def conducts(self) -> dict[str, int]:
        """Processes that conduct each job now."""
        jobs = str((self.folder / "state" / "jobs").absolute()) + "/"
        counts: dict[str, int] = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if len(words) > 2 and words[1] == "conduct" and words[2].startswith(jobs):
                name = words[2][len(jobs) :].split("/")[0]
                counts[name] = counts.get(name, 0) + 1
        return counts

    def marks(self) -> dict[tuple[str, str], int]:
        """By job and worker process: how often its training thread slept; each step does."""
        jobs = str((self.folder / "state" / "jobs").absolute()) + "/"
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
                socket = next((w[17:] for w in words if w.startswith("RUBATO_CONDUCTOR=")), "")
                if socket.startswith(jobs):
                    status = (entry / "task" / entry.name / "status").read_text()
                    count = int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])
                    found[socket[len(jobs) :].split("/")[0], entry.name] = count
            except (OSError, IndexError):
                continue
        return found

    def watch_training(self, before: dict[str, Any], down: float) -> None:
        """While the platform is down: workers of jobs that trained go on to make steps."""
        first = self.marks()
        time.sleep(down)
        last = self.marks()
        for job_id, job in before.items():
            mine = [key for key in first if key[0] == job_id]
            pairs = [(first[key], last[key]) for key in mine if key in last]
            is_long = down * job["steps_per_second"] >= 4  # Enough for a step or two in any case.
            # Where some are gone the job has ended, and who is left only waits to be told so.
            if job["state"] != "RUNNING" or not pairs or len(pairs) < len(mine) or not is_long:
                continue
            self.gaps += 1
            if all(count == earlier for earlier, count in pairs):
                self.fault(f"job {job_id} made no step in {down:.1f} s without the platform")

    def check_conducts(self) -> int:
        """No job is run by two."""
        counts = self.conducts()
        for name, count in counts.items():
            if count > 1:
                self.fault(f"job {name} is conducted by {count} processes")
        self.conductors_max = max(self.conductors_max, len(counts))
        return len(counts)

    def one_round(self, number: int) -> None:
        """Submits, waits for a random instant, kills, looks at what goes on, and starts again."""
        platform = self.platform
        assert platform is not None
        wanted = self.random.randint(4, 7)
        for _ in range(wanted - self.look(platform.jobs())):
            self.submit(platform)
        time.sleep(self.random.uniform(0.0, self.arguments.between))
        before = {job["id"]: job for job in platform.jobs()}
        self.look(list(before.values()))
        # The instant itself: anywhere in what follows a request, or in calm.
        if self.random.random() < 0.5:
            self.submit(platform)
            time.sleep(self.random.uniform(0.0, 0.05))
        self.kill()
        down = self.random.uniform(0.1, self.arguments.down)
        self.watch_training(before, down)
        self.check_conducts()
        platform = self.up()
        self.await_reports(platform, before, down)
        self.look(platform.jobs())
        print(
            f"kill {number}: serving again after {self.restarts[-1]:.2f} s, "
            f"{len(self.submitted)} jobs so far",
            flush=True,
        )

    def await_reports(self, platform: Platform, before: dict[str, Any], down: float) -> None:
        """What the jobs did meanwhile is known again."""
        until = time.monotonic() + SETTLES_WITHIN
        trained = {
            job_id: job for job_id, job in before.items()
            if job["state"] == "RUNNING" and job["workers"] > 0 and job["steps_per_second"] > 0
        }  # fmt: skip
        while trained and time.monotonic() < until:
            for job in platform.jobs():
                was = trained.get(job["id"])
                if was is None:
                    continue
                least = was["steps_done"] + 0.5 * down * was["steps_per_second"]
                if job["state"] in OVER or job["steps_done"] >= min(least, was["steps_total"]):
                    del trained[job["id"]]
            time.sleep(0.05)
        for job_id in trained:
            self.fault(f"nothing was heard of job {job_id} after the platform came back")

    def finish(self) -> None:
        """Lets all jobs end and looks at the ends."""
        assert self.platform is not None
        until = time.monotonic() + SETTLES_WITHIN
        while self.look(self.platform.jobs()) and time.monotonic() < until:
            time.sleep(0.5)
        for job in self.platform.jobs():
            spec = self.submitted[job["id"]]
            if job["state"] == "REJECTED" and "deadline" in spec:
                continue
            if job["state"] != "SUCCEEDED":
                self.fault(f"job {job['id']} ended {job['state']}: {job['message']}")
            elif job["steps_done"] != spec["steps"]:
                self.fault(f"job {job['id']} did {job['steps_done']:g} of {spec['steps']} steps")
            if job.get("missed"):
                self.fault(f"job {job['id']} missed its promise")


def arguments_of(words: list[str]) -> argparse.Namespace:
    """All optional."""
    parser = argparse.ArgumentParser(description="Kills the live platform again and again.")
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "rubato")
    parser.add_argument("--counting", type=Path, default=ROOT / "build" / "counting_trainer")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--between", type=float, default=3.0, help="most seconds before a kill")
    parser.add_argument("--down", type=float, default=2.0, help="most seconds until it is back")
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Runs all kills."""
    arguments = arguments_of(words)
    if not arguments.binary.is_file():
        print(f"{arguments.binary}: no such program; build it first: make build", file=sys.stderr)
        return 2
    arguments.binary = arguments.binary.absolute()
    arguments.counting = arguments.counting.absolute()
    if not arguments.counting.is_file():
        print(f"{arguments.counting}: no such program; only emulated jobs train")
    print(f"seed {arguments.seed}, {arguments.kills} kills", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="rubato-soak-live-"))
    soak = Soak(arguments, folder)
    try:
        soak.up()
        for number in range(1, arguments.kills + 1):
            soak.one_round(number)
        soak.finish()
    except ChildFailed as error:
        soak.fault(str(error))
    finally:
        if soak.platform is not None:
            soak.platform.process.terminate()
            soak.platform.process.wait()
        end_conducts(folder / "state")
    restarts = sorted(soak.restarts[1:]) or [0.0]
    print(
        json.dumps(
            {
                "seed": arguments.seed, "kills": len(soak.restarts) - 1,
                "jobs": len(soak.submitted),
                "faults": len(soak.faults), "seen_training_while_down": soak.gaps,
                "conducted_at_once_max": soak.conductors_max,
                "restart_seconds_median": round(restarts[len(restarts) // 2], 3),
                "restart_seconds_max": round(restarts[-1], 3),
            }
        )
    )  # fmt: skip
    if soak.faults:
        print(f"state is left in {folder}")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
