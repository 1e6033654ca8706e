"""Tests of the runner, with a program that stands in for rubato."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "harness")]

import run  # noqa: E402
import scenario  # noqa: E402
from bad_config import BadConfig  # noqa: E402
from expectation import load_expected  # noqa: E402

# Both jobs of a trace end when they would if the cluster were as wide as it takes.
HASTY = """
import csv, json, sys
words = sys.argv[1:]
rows = list(csv.DictReader(open(words[words.index("--trace") + 1])))
jct = float(rows[0]["duration"])
last = float(rows[1]["submission_time"]) + jct
row = {"deadline_met_ratio": 0, "jct_avg_seconds": jct, "makespan_seconds": last}
print(json.dumps({"results": [row]}))
"""


class ScenarioTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.scenarios = scenario.load_scenarios(HERE / "scenarios.toml")

    def test_every_shipped_file_can_be_read(self) -> None:
        rows = load_expected(HERE / "expected.csv")

        self.assertTrue({one.name for one in self.scenarios}.issuperset(row.run for row in rows))
        self.assertTrue(set(scenario.POLICIES).issuperset(row.policy for row in rows))

    def test_inputs_say_how_long_a_job_takes(self) -> None:
        trace, speeds = scenario.write_inputs(self.scenarios[0], self.folder)

        rows = trace.read_text(encoding="utf-8").splitlines()
        self.assertEqual(rows[1], "first,0.0,5135,pods,395.0,1,13,395,1")
        self.assertEqual(len(speeds.read_text(encoding="utf-8").splitlines()), 14)

    def test_ends_follow_from_mean_and_makespan(self) -> None:
        row = {"jct_avg_seconds": (395 + 551) / 2, "makespan_seconds": 581}

        ends = scenario.ends_of(self.scenarios[0], row)

        self.assertEqual((ends.first, ends.last), (395, 581))

    def test_a_wrong_file_is_named(self) -> None:
        path = self.folder / "s.toml"
        for text in ("x = ", "[[scenario]]\nname = 'a'\n", ""):
            path.write_text(text, encoding="utf-8")
            with self.subTest(text), self.assertRaisesRegex(BadConfig, "s.toml"):
                scenario.load_scenarios(path)

    def test_ends_that_are_too_early_miss_bars(self) -> None:
        program = self.folder / "rubato"
        program.write_text(f"#!{sys.executable}\n{HASTY}", encoding="utf-8")
        program.chmod(0o755)
        out = io.StringIO()

        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = run.main(["--binary", str(program), "--output", str(self.folder)])

        self.assertEqual(code, 1, out.getvalue())
        self.assertRegex(out.getvalue(), r"gang +last .* 425\.00 +MISSED")

    def test_a_missing_program_is_code_2(self) -> None:
        out = io.StringIO()
        with contextlib.redirect_stderr(out):
            code = run.main(["--binary", str(self.folder / "none")])

        self.assertEqual((code, "make build" in out.getvalue()), (2, True))


if __name__ == "__main__":
    unittest.main()
