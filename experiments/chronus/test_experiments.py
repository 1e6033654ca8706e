"""Tests of the draw, of what is read off a run, and of whether the command fails."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "harness")]

import run  # noqa: E402
import workload  # noqa: E402
from expectation import load_expected  # noqa: E402

# Every policy meets half of the deadlines, and lets other jobs wait for an hour.
HALFHEARTED = """
import json, sys
words = sys.argv[1:]
jobs = [json.loads(line) for line in open(words[words.index("--trace") + 1])][1:]
due = [job for job in jobs if job["class"] != "best_effort"]
row = {"deadline_met_ratio": 0.5, "deadline_jobs": len(due), "deadline_met": len(due) // 2,
       "best_effort_jct_avg_seconds": 3600, "promises": 1, "promises_broken": 0,
       "value_offered": 10 * len(jobs), "total_value": 10 * len(jobs) - 5 * len(due)}
print(json.dumps({"results": [row]}))
"""


class Draw(unittest.TestCase):
    def test_the_same_seed_gives_the_same_jobs(self) -> None:
        mix = workload.MIXES["mix2"]

        self.assertEqual(workload.trace_of(mix, 4), workload.trace_of(mix, 4))
        self.assertNotEqual(workload.trace_of(mix, 4), workload.trace_of(mix, 5))

    def test_jobs_last_a_lease_at_least_and_are_due_on_the_hour(self) -> None:
        jobs = workload.trace_of(workload.MIXES["mix2"], 1)

        self.assertEqual(len(jobs), 1223)
        self.assertEqual([j["arrival"] for j in jobs], sorted(j["arrival"] for j in jobs))
        for job in jobs:
            self.assertGreaterEqual(job["duration"], 20 * 60)
            if job["class"] != "best_effort":
                self.assertEqual(job["deadline"] % 3600, 0)
                self.assertGreaterEqual(job["deadline"], job["arrival"] + 1.1 * job["duration"])
                within = [step["within"] for step in job["value"]["steps"]]
                self.assertEqual(within, sorted(set(within)))
                self.assertEqual(job["arrival"] + within[0], job["deadline"])

    def test_soft_steps_on_one_hour_keep_the_higher_value(self) -> None:
        jobs = workload.trace_of(workload.MIXES["mix2"], 1)
        steps = [job["value"]["steps"] for job in jobs if job["class"] == "soft"]

        self.assertTrue(all(each[0]["amount"] == workload.WORTH for each in steps))
        self.assertTrue(any(len(each) < len(workload.SOFT_STEPS) for each in steps))

    def test_run_times_follow_their_quantiles(self) -> None:
        self.assertEqual(workload.minutes_at([(0, 10), (0.5, 40), (1, 90)], 0.25), 20)
        self.assertEqual(workload.minutes_at([(0, 10), (0.5, 40), (1, 90)], 1), 90)


class Runner(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def test_every_row_names_a_number_that_is_measured(self) -> None:
        one = run.Outcome(1, 1, 1, 1, 1, 1)
        results = {s.name: {policy: one for policy in run.POLICIES} for s in run.SETTINGS}

        for row in load_expected(HERE / "expected.csv"):
            self.assertIsNotNone(run.found_for(row, results), row)

    def test_every_reference_has_its_run(self) -> None:
        self.assertTrue({s.name for s in run.SETTINGS}.issuperset(run.REFERENCE))
        for row in run.REFERENCE.values():
            self.assertEqual(set(row), set(run.POLICIES))

    def test_slowdown_and_lost_value_count_their_own_jobs(self) -> None:
        jobs = [{"class": "best_effort", "duration": 1800}, {"class": "slo", "duration": 9}]
        row = {
            "deadline_jobs": 4, "deadline_met": 3, "best_effort_jct_avg_seconds": 2700,
            "promises": 3, "promises_broken": 0, "value_offered": 50, "total_value": 44,
        }  # fmt: skip

        one = run.outcome_of(row, jobs)

        self.assertEqual((one.miss, one.slowdown, one.minutes), (25, 1.5, 45))
        self.assertEqual(one.value_lost, 15)

    def test_missed_deadlines_miss_bars(self) -> None:
        program = self.folder / "rubato"
        program.write_text(f"#!{sys.executable}\n{HALFHEARTED}", encoding="utf-8")
        program.chmod(0o755)
        out = io.StringIO()

        one_seed = unittest.mock.patch.object(run, "SEEDS", (1,))
        with one_seed, contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = run.main(["--binary", str(program), "--output", str(self.folder)])

        self.assertEqual(code, 1, out.getvalue())
        self.assertRegex(out.getvalue(), r"mix1@64 +chronus +miss .* 50\.\d+ +MISSED")

    def test_a_missing_program_is_code_2(self) -> None:
        out = io.StringIO()
        with contextlib.redirect_stderr(out):
            code = run.main(["--binary", str(self.folder / "none")])

        self.assertEqual((code, "make build" in out.getvalue()), (2, True))


if __name__ == "__main__":
    unittest.main()
