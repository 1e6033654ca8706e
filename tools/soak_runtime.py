#!/usr/bin/env python3
"""Disturbs elastic jobs at random and sees that each ends as if nothing had happened.

Every job is tests/programs/counting_trainer.cc under `rubato train`, in deterministic mode: its
parameters at the end must be those of an undisturbed run, whatever happened. Workers are killed and
frozen by process number at random moments, also while a group changes, and resized while they
resize. Prints its seed, one line per job, and a summary; exits 1 if any job went wrong.

  tools/soak_runtime.py [--seconds 600] [--disturbances 200] [--seed N] [--build build]
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SAMPLES, BATCH, SHARDS = 4000, 32, 8
STEPS_AN_EPOCH = SAMPLES // BATCH
JOB_SECONDS_MAX = 90  # A job takes a few seconds; one that takes so long hangs.
ZOMBIE_SECONDS_MAX = 5
FREEZE_SECONDS = 6  # The conductor must have killed a frozen worker by then.


def processes(conductor_folder):
    """Workers of the job whose socket lies under the folder: worker number to process number."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "environ").read_bytes().split(b"\0")
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        values = dict(word.split(b"=", 1) for word in words if b"=" in word)
        socket = values.get(b"RUBATO_CONDUCTOR", b"").decode()
        if socket.startswith(str(conductor_folder)) and state != "Z":
            found[int(values[b"RUBATO_WORKER"])] = int(entry.name)
    return found


def zombies_of(pid):
    """Dead children of a process that it has not collected."""
    found = set()
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if fields[0] == "Z" and int(fields[1]) == pid:
                found.add(int(entry.name))
    return found


class Job:
    """One job under `rubato train`, in a folder of its own."""

    def __init__(self, build, rng, number):
        self.rng = rng
        self.number = number
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rubato-soak-"))
        self.epochs = rng.randint(3, 6)
        self.steps = STEPS_AN_EPOCH * self.epochs
        self.snapshot_steps = rng.choice([0, 10, 25])
        self.script = self.draw_resizes()
        self.kills = 0
        self.freezes = 0
        self.massacres = 0
        self.frozen = []  # (when to wake it, process number)
        self.seen = set()
        self.zombies, self.uncollected, self.next_look = {}, set(), 0.0
        self.command = [
            str(build / "rubato"), "train", "--json",
            "--workers", str(rng.randint(1, 5)),
            "--parked", str(rng.choice([0, 1, 2, 4])),
            "--snapshot-steps", str(self.snapshot_steps),
            "--resize", "; ".join(f"at step {at}: {size}" for at, size in self.script),
            "--", str(build / "counting_trainer"),
            str(SAMPLES), str(BATCH), str(self.epochs), str(SHARDS), str(rng.choice([2000, 6000])),
        ]

    def draw_resizes(self):
        """Sizes by step; some follow each other within a step or two."""
        at, resizes = 0, []
        while True:
            at += self.rng.choice([1, 1, 2, 5, 40, 80])
            if at >= self.steps:
                return resizes
            resizes.append((at, self.rng.randint(1, 7)))

    def disturb(self, alive, fresh):
        """Kills or freezes somebody; `fresh` has just been started, so a switch is near."""
        rng = self.rng
        if not alive:
            return
        first = min(alive)  # Most likely rank 0, which hands its state to the others.
        kind = rng.random()
        if kind < 0.10:
            self.massacres += 1
            for pid in alive.values():
                self.send(pid, signal.SIGKILL)
        elif kind < 0.30:
            victims = {first, rng.choice(sorted(alive))}
            for victim in rng.sample(sorted(victims), len(victims)):
                self.send(alive[victim], signal.SIGKILL)
                time.sleep(rng.choice([0, 0.001, 0.01, 0.05]))
        elif kind < 0.42 and len(self.frozen) < 2:
            victim = alive[rng.choice(sorted(alive))]
            self.send(victim, signal.SIGSTOP)
            self.frozen.append((time.monotonic() + FREEZE_SECONDS, victim))
        elif kind < 0.60 and fresh:
            self.send(alive[rng.choice(sorted(fresh))], signal.SIGKILL)
        else:
            self.send(alive[rng.choice(sorted(alive))], signal.SIGKILL)

    def send(self, pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        if number == signal.SIGKILL:
            self.kills += 1
        elif number == signal.SIGSTOP:
            self.freezes += 1

    def wake(self):
        """One frozen before it had introduced itself is waited for; it may go on then."""
        now = time.monotonic()
        for _, pid in [entry for entry in self.frozen if entry[0] <= now]:
            if pid in self.processes().values():
                self.send(pid, signal.SIGCONT)
        self.frozen = [entry for entry in self.frozen if entry[0] > now]

    def watch_zombies(self, pid, now):
        """Looks every half a second for children that died and are never collected."""
        if now < self.next_look:
            return
        self.next_look = now + 0.5
        dead = zombies_of(pid)
        self.zombies = {child: self.zombies.get(child, now) for child in dead}
        self.uncollected |= {child for child, since in self.zombies.items()
                             if now - since > ZOMBIE_SECONDS_MAX}

    def processes(self):
        return processes(self.folder)

    def run(self):
        """Returns what went wrong; an empty list is good."""
        out, errors = self.folder.with_suffix(".out"), self.folder.with_suffix(".err")
        began = time.monotonic()
        disturbing_until = began + self.rng.uniform(1, 6)
        next_disturbance = began + self.rng.uniform(0.05, 0.6)
        with out.open("w") as out_file, errors.open("w") as error_file:
            process = subprocess.Popen(
                self.command, stdout=out_file, stderr=error_file, start_new_session=True,
                env={**os.environ, "TMPDIR": str(self.folder)})
            while process.poll() is None:
                now = time.monotonic()
                if now - began > JOB_SECONDS_MAX:
                    alive = self.processes()
                    process.kill()
                    process.wait()
                    return [f"hangs; workers alive: {alive}; see {out} and {errors}"]
                self.wake()
                if next_disturbance <= now < disturbing_until:
                    alive = self.processes()
                    fresh = set(alive) - self.seen
                    self.seen |= set(alive)
                    self.disturb(alive, fresh)
                    next_disturbance = now + self.rng.choice([0.002, 0.03, 0.1, 0.3, 0.8])
                self.watch_zombies(process.pid, now)
                time.sleep(0.005)
        self.seconds = time.monotonic() - began
        problems = self.check(process.returncode, out)
        if problems:
            problems.append(f"see {out} and {errors}")
        else:
            out.unlink()
            errors.unlink()
            shutil.rmtree(self.folder, ignore_errors=True)
        return problems

    def check(self, code, out):
        problems = []
        try:
            report = json.loads(out.read_text())
        except ValueError:
            return [f"exit code {code} and no report"]
        self.report = report
        # Who kills the first worker after its training takes its result away: that is no defect.
        is_late_kill = code == 137 and "after training" in report["reason"]
        if code != 0 and not is_late_kill:
            problems.append(f"exit code {code}: {report['reason']}")
        if not report["hashes_agree"]:
            problems.append("the workers ended with different parameters")
        if report["steps"] != self.steps:
            problems.append(f"{report['steps']} steps instead of {self.steps}")
        problems += self.check_lost(report)
        if self.uncollected:
            problems.append(f"dead processes were not collected: {sorted(self.uncollected)}")
        if left := self.processes():
            problems.append(f"processes left: {left}")
        if left := [str(path) for path in self.folder.iterdir()]:
            problems.append(f"files left: {left}")
        return problems

    def check_lost(self, report):
        """Steps may be lost only if all who had trained were killed, and no more than a snapshot
        brings back."""
        problems = []
        ends = {worker["worker"]: worker["ended_seconds"] for worker in report["workers"]}
        before = []
        for generation in report["generations"]:
            if generation["entered_seconds"] == 0:
                continue
            lost = generation["lost_steps"]
            survivors = [member for member in before
                         if not 0 < ends[member] <= generation["entered_seconds"]]
            if lost > 0 and survivors:
                problems.append(f"generation {generation['number']} lost {lost} steps although "
                                f"workers {survivors} lived")
            if lost > self.snapshot_steps > 0:
                problems.append(f"generation {generation['number']} lost {lost} steps in spite of "
                                f"a snapshot every {self.snapshot_steps}")
            before = generation["members"]
        return problems

    def resizes_done(self):
        return sum(at <= self.report["steps"] for at, _ in self.script)


def reference_hash(build, epochs, known):
    """Of an undisturbed run with one worker."""
    if epochs not in known:
        done = subprocess.run(
            [build / "rubato", "train", "--json", "--", build / "counting_trainer", str(SAMPLES),
             str(BATCH), str(epochs), str(SHARDS), "0"],
            capture_output=True, check=True, timeout=JOB_SECONDS_MAX)
        known[epochs] = json.loads(done.stdout)["parameter_hash"]
    return known[epochs]


def shared_memory():
    return {path.name for path in pathlib.Path("/dev/shm").glob("*rubato*")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--disturbances", type=int, default=200, help="at least so many")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    options = parser.parse_args()
    build = options.build.resolve()
    print(f"seed {options.seed}", flush=True)

    began = time.monotonic()
    hashes, failed, jobs = {}, 0, 0
    totals = {"resizes": 0, "kills": 0, "freezes": 0, "massacres": 0, "lost steps": 0}
    before = shared_memory()
    while (time.monotonic() - began < options.seconds
           or sum(totals[kind] for kind in ("resizes", "kills", "freezes")) < options.disturbances):
        if time.monotonic() - began > 4 * options.seconds:
            print("too slow to disturb enough")
            failed += 1
            break
        jobs += 1
        job = Job(build, random.Random(f"{options.seed}/{jobs}"), jobs)
        problems = job.run()
        if hasattr(job, "report"):
            if job.report["parameter_hash"] != reference_hash(build, job.epochs, hashes):
                problems.append(f"parameters {job.report['parameter_hash']} instead of "
                                f"{reference_hash(build, job.epochs, hashes)}")
            lost = sum(generation["lost_steps"] for generation in job.report["generations"])
            totals["resizes"] += job.resizes_done()
            totals["lost steps"] += lost
            shown = (f"{job.seconds:5.1f} s, {len(job.report['generations']):3} generations, "
                     f"{job.resizes_done():3} resizes, {job.kills:2} kills, {job.freezes} freezes, "
                     f"{lost} steps lost")
        else:
            shown = "no report"
        for kind in ("kills", "freezes", "massacres"):
            totals[kind] += getattr(job, kind)
        if left := shared_memory() - before:
            problems.append(f"left in /dev/shm: {sorted(left)}")
            before |= left
        print(f"job {jobs}: {shown}: {'; '.join(problems) or 'ok'}", flush=True)
        failed += bool(problems)
    words = ", ".join(f"{count} {kind}" for kind, count in totals.items())
    print(f"soak-runtime: seed {options.seed}, {jobs} jobs, {words}, {failed} failed, "
          f"{time.monotonic() - began:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
