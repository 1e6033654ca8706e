"""The same submissions live and simulated, and what the two say."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from child import ChildFailed, run
from platform_run import Platform, Settings, moment, text_of
from workload import TestbedJob

OVER = ("SUCCEEDED", "FAILED", "CANCELLED", "REJECTED")


@dataclass
class Outcome:
    """What became of one job; moments count from the first submission."""

    name: str
    submitted: float
    deadline: float
    finished: float | None = None  # None: refused, or not finished.
    promised: bool = False
    quoted: float | None = None
    state: str = ""
    reason: str = ""
    resizes: int = 0

    @property
    def met(self) -> bool:
        """Finished before the deadline its owner named."""
        return self.finished is not None and self.finished <= self.deadline

    @property
    def quote_error(self) -> float | None:
        """How far off the quoted finish was, over the quoted duration; negative: it came earlier."""
        if self.quoted is None or self.finished is None or not self.promised:
            return None
        return (self.finished - self.quoted) / (self.quoted - self.submitted)


def spec_of(job: TestbedJob, deadline: float, settings: Settings) -> dict[str, object]:
    """The job as the REST interface takes it."""
    return {
        "name": job.name,
        "kind": "emulated",
        "steps": job.steps,
        "deadline": text_of(deadline),
        "workers": {"listed": sorted(job.speeds)},
        "speeds": [{"workers": n, "steps_per_second": s} for n, s in job.speeds.items()],
        "environment": {"RUBATO_EMULATED_PAUSE": f"{settings.pause:g}"},
    }


def run_live(
    platform: Platform, jobs: list[TestbedJob], settings: Settings, seconds_max: float,
    tell: Callable[[str], None],
) -> list[Outcome]:  # fmt: skip
    """Submits every job at its time and waits until all are over."""
    began = time.time() + 2 * settings.slot  # The round of the nodes that came is over.
    said = 0.0
    for number, job in enumerate(jobs):
        time.sleep(max(0.0, began + job.arrival - time.time()))
        platform.ask("/v1/jobs", spec_of(job, time.time() + job.allowed, settings))
        if time.time() - said > 30:
            said = time.time()
            tell(f"{said - began:4.0f} s: {number + 1} of {len(jobs)} jobs submitted")
    while True:
        found = platform.jobs()
        open_jobs = sum(job["state"] not in OVER for job in found)
        if not open_jobs:
            return outcomes_of(found)
        if time.time() - began > seconds_max:
            raise ChildFailed(f"{open_jobs} jobs are not over after {seconds_max:.0f} s")
        if time.time() - said > 30:
            said = time.time()
            tell(f"{said - began:4.0f} s: {open_jobs} jobs to go")
        time.sleep(1)


def outcomes_of(found: list[dict]) -> list[Outcome]:  # type: ignore[type-arg]
    """In order of submission."""
    found = sorted(found, key=lambda job: int(job["id"]))
    first = moment(found[0]["submitted"])
    outcomes = []
    for job in found:
        at = {n: moment(job[n]) - first for n in ("submitted", "deadline", "finished", "quoted") if n in job}
        succeeded = job["state"] == "SUCCEEDED"
        outcomes.append(
            Outcome(
                job["spec"]["name"], at["submitted"], at["deadline"],
                finished=at["finished"] if succeeded else None,
                promised="promised" in job, quoted=at.get("quoted"), state=job["state"],
                reason=job.get("reason", ""), resizes=job["resizes"],
            )
        )  # fmt: skip
    return outcomes


def write_trace(path: Path, live: list[Outcome], jobs: list[TestbedJob], settings: Settings) -> None:
    """What the live controller told its engine, as a trace: same arrivals, same planned deadlines."""
    lines = [json.dumps({"format": "rubato-trace/2", "source": "testbed", "jobs": len(jobs)})]
    by_name = {job.name: job for job in jobs}
    for one in live:
        job = by_name[one.name]
        planned = settings.planned(one.deadline - one.submitted)
        lines.append(
            json.dumps(
                {
                    "name": one.name, "class": "slo", "arrival": round(one.submitted, 6),
                    "deadline": round(one.submitted + planned, 6), "work": job.steps,
                    "workers": {"listed": sorted(job.speeds)},
                    "speeds": [[n, s] for n, s in job.speeds.items()],
                }
            )
        )  # fmt: skip
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def run_simulated(binary: Path, folder: Path, live: list[Outcome], jobs: list[TestbedJob],
                  settings: Settings) -> list[Outcome]:  # fmt: skip
    """The same submissions through `rubato sim`."""
    trace, picture = folder / "submissions.jsonl", folder / "simulated.perfetto.json"
    write_trace(trace, live, jobs, settings)
    words = [str(binary), "sim", "--trace", str(trace), "--cluster", settings.cluster]
    words += ["--policy", settings.policy, "--slot", f"{settings.slot:g}", "--overhead", "physical"]
    words += ["--restart", f"{settings.pause:g}", "--firm-quotes", f"{settings.firm_quotes:g}"]
    words += ["--perfetto", str(picture), "--json"]
    row = json.loads(run(words).output)["results"][0]
    ends: dict[str, float] = {}
    shares: dict[str, set[tuple[int, int]]] = {}
    for event in json.loads(picture.read_text(encoding="utf-8"))["traceEvents"]:
        if event["ph"] == "X" and "workers" in event.get("args", {}):
            name = event["name"]
            ends[name] = max(ends.get(name, 0.0), (event["ts"] + event["dur"]) / 1e6)
            shares.setdefault(name, set()).add((event["ts"], event["args"]["workers"]))
    if len(ends) != row["finished"]:
        raise ChildFailed(f"the simulator finished {row['finished']} jobs, its picture has {len(ends)}")
    return [
        Outcome(one.name, one.submitted, one.deadline, ends.get(one.name), one.name in ends,
                state="SUCCEEDED" if one.name in ends else "REJECTED",
                resizes=len(shares.get(one.name, ())))
        for one in live
    ]  # fmt: skip


def percentile(values: list[float], part: float) -> float:
    """The value below which this part of them lies; nan without any."""
    if not values:
        return math.nan
    ordered = sorted(values)
    return ordered[math.ceil(part * (len(ordered) - 1))]


@dataclass(frozen=True)
class Numbers:
    """What is compared."""

    jobs: int
    admitted: int
    finished: int
    deadline_ratio: float
    jct_mean: float
    broken: int
    resizes: int


def numbers_of(outcomes: list[Outcome]) -> Numbers:
    """Over all jobs; the mean time to completion over those that finished."""
    done = [one for one in outcomes if one.finished is not None]
    return Numbers(
        jobs=len(outcomes),
        admitted=sum(one.promised for one in outcomes),
        finished=len(done),
        deadline_ratio=sum(one.met for one in outcomes) / len(outcomes),
        jct_mean=mean([one.finished - one.submitted for one in done]) if done else math.nan,  # type: ignore[operator]
        broken=sum(one.promised and not one.met for one in outcomes),
        resizes=sum(one.resizes for one in outcomes),
    )
