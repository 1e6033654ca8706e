"""Tests of the bars, and of the runner with a program that stands in for rubato."""

import contextlib
import importlib.util
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent

# The experiment whose jobs these are has a run.py as well; ours must be the one that is tested.
SPEC = importlib.util.spec_from_file_location("dps_run", HERE / "run.py")
run = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(run)

# What a policy earns is the number of jobs times the length of its name.
STANDIN = """
import json, sys
words = sys.argv[1:]
if words[:2] == ["policy", "list"]:
    print("dps   auction\\nsrtf  shortest first\\n")
else:
    jobs = sum(1 for line in open(words[words.index("--trace") + 1])) - 1
    names = words[words.index("--policy") + 1].split(",")
    rows = [{"policy": name, "total_value": jobs * len(name)} for name in names]
    print(json.dumps({"results": rows}))
"""


def quietly(call, *arguments):
    """What the call returns and prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        return call(*arguments), out.getvalue()


class Bars(unittest.TestCase):
    def test_what_was_recorded_holds(self):
        measured = [{"dps": value, "fifo": 1} for value in (3480, 5670, 9020)]
        self.assertEqual(quietly(run.check, measured)[0], 0)

    def test_another_policy_ahead_is_a_miss(self):
        measured = [{"dps": value, "fifo": 9000} for value in (3480, 5670, 9020)]
        code, text = quietly(run.check, measured)
        self.assertEqual((code, "2 bars missed" in text), (1, True))

    def test_a_value_out_of_tolerance_is_a_miss(self):
        measured = [{"dps": value, "fifo": 1} for value in (3480, 5370, 9020)]
        code, text = quietly(run.check, measured)
        self.assertEqual((code, "at 200 jobs" in text), (1, True))


class Runner(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(scratch.name)
        self.program = Path(scratch.name) / "rubato"

    def main(self):
        with mock.patch.object(run, "RUBATO", self.program):
            with mock.patch.object(sys.modules["welfare"], "RUBATO", self.program):
                return quietly(run.main)

    def test_gains_are_over_the_other_policy(self):
        self.program.write_text(f"#!{sys.executable}\n{STANDIN}", encoding="utf-8")
        self.program.chmod(0o755)
        code, text = self.main()
        self.assertEqual(code, 1)
        self.assertRegex(text, r"(?m)^srtf +0\.40 \( *-25%\) +0\.80 \( *-25%\)")
        self.assertNotIn("tiresias", text)

    def test_a_missing_program_is_code_2(self):
        code, text = self.main()
        self.assertEqual((code, "make build" in text), (2, True))


if __name__ == "__main__":
    unittest.main()
