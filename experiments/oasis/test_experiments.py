"""Tests of the draw, the bars, and the runner with a program that stands in for rubato."""

import contextlib
import io
import json
import os
import random
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

# pylint: disable=wrong-import-position
import run
import welfare

# Lists two of the policies; what a policy earns grows with the length of its name.
STANDIN = """
import json, sys
words = sys.argv[1:]
if words[:2] == ["policy", "list"]:
    print("oasis  dearest first\\n       from: a paper\\nfifo   order of arrival\\n")
else:
    names = words[words.index("--policy") + 1].split(",")
    print(json.dumps({"results": [{"policy": n, "total_value": 100.0 * len(n)} for n in names]}))
"""


def quietly(call, *arguments):
    """What the call returns and prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        return call(*arguments), out.getvalue()


class Draw(unittest.TestCase):
    def test_counts_are_powers_of_two_and_the_most(self):
        self.assertEqual(welfare.powers_up_to(1), [1])
        self.assertEqual(welfare.powers_up_to(8), [1, 2, 4, 8])
        self.assertEqual(welfare.powers_up_to(11), [1, 2, 4, 8, 11])

    def test_a_tenth_of_jobs_does_not_mind_waiting(self):
        draw = random.Random(7)
        kinds = [welfare.value(draw)["kind"] for _ in range(5000)]
        self.assertAlmostEqual(kinds.count("constant") / 5000, 0.1, delta=0.02)

    def test_the_same_seed_gives_the_same_trace_in_order(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / name for name in "abc"]
            for path, seed in zip(paths, (1, 1, 2)):
                welfare.write_trace(path, 50, seed)
            first, again, other = (path.read_text(encoding="utf-8") for path in paths)
        jobs = [json.loads(line) for line in first.splitlines()][1:]
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertEqual(len(jobs), 50)
        self.assertEqual([j["arrival"] for j in jobs], sorted(j["arrival"] for j in jobs))
        self.assertTrue(all(j["requested"] <= j["workers"]["listed"][-1] for j in jobs))


class Bars(unittest.TestCase):
    def measured(self, **others):
        return [{"oasis": value, **others} for value in (3590, 5670, 7520, 8990)]

    def test_what_was_recorded_holds(self):
        self.assertEqual(quietly(run.check, self.measured(fifo=10))[0], 0)

    def test_another_policy_ahead_is_a_miss_at_each_load(self):
        code, text = quietly(run.check, self.measured(fifo=7000))
        self.assertEqual(code, 1)
        self.assertIn("2 bars missed", text)

    def test_a_value_out_of_tolerance_is_a_miss(self):
        measured = self.measured(fifo=10)
        measured[2]["oasis"] += 400
        code, text = quietly(run.check, measured)
        self.assertEqual((code, "at 300 jobs, expected 7520" in text), (1, True))


class Runner(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(scratch.name)
        self.program = Path(scratch.name) / "rubato"

    def main(self):
        with mock.patch.object(run, "RUBATO", self.program):
            with mock.patch.object(welfare, "RUBATO", self.program):
                return quietly(run.main)

    def test_only_registered_policies_are_run(self):
        self.program.write_text(f"#!{sys.executable}\n{STANDIN}", encoding="utf-8")
        self.program.chmod(0o755)
        code, text = self.main()
        self.assertEqual(code, 1)
        self.assertRegex(text, r"(?m)^oasis +0\.50 +3\.0")
        self.assertRegex(text, r"(?m)^fifo +0\.40 +0\.9")
        self.assertNotIn("tiresias", text)

    def test_a_missing_program_is_code_2(self):
        code, text = self.main()
        self.assertEqual((code, "make build" in text), (2, True))


if __name__ == "__main__":
    unittest.main()
