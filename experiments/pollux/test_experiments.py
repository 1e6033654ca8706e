"""Tests of the parts that decide what is printed and whether the command fails."""

import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "harness")]

# pylint: disable=wrong-import-position
from bad_config import BadConfig
from expectation import load_expected
from run import expected_table, found_for, mean_table
from workloads import Replay, load_reference

TIRESIAS = "tiresias:thresholds=57600"
REFERENCE = {
    "workload-1": {TIRESIAS: 100.0, "optimus": 200.0, "pollux": 50.0},
    "workload-2": {TIRESIAS: 300.0, "optimus": 400.0, "pollux": 150.0},
}


def results(scale: float) -> dict:
    """Ours as multiples of the reference."""
    return {
        policy: {
            name: Replay(row[policy] * scale, 3600, 7200, 1.5) for name, row in REFERENCE.items()
        }
        for policy in REFERENCE["workload-1"]
    }


class Expected(unittest.TestCase):
    def test_every_row_names_a_known_number(self):
        for one in load_expected(HERE / "expected.csv"):
            self.assertIn(one.metric, ("ratio", "hours"))
            self.assertIn(one.policy, REFERENCE["workload-1"])

    def test_a_mean_is_taken_over_workloads_before_the_ratio(self):
        one = next(o for o in load_expected(HERE / "expected.csv") if o.run == "mean")
        skewed = results(1)
        skewed["pollux"]["workload-1"] = Replay(70.0, 0, 0, 0)
        self.assertAlmostEqual(found_for(one, skewed, REFERENCE), 220 / 200)

    def test_a_bar_is_missed_beyond_three_percent(self):
        expectations = [
            o for o in load_expected(HERE / "expected.csv") if o.run in ("workload-1", "workload-2")
        ]
        self.assertEqual(expected_table(expectations, results(1.029), REFERENCE)[1], 0)
        self.assertEqual(expected_table(expectations, results(1.04), REFERENCE)[1], 4)

    def test_policies_without_a_reference_have_no_ratio(self):
        both = results(1) | {"sia": results(1)["pollux"]}
        self.assertEqual(mean_table(both, REFERENCE).rows[-1], ["sia", "100", "-", "-"])


class Reference(unittest.TestCase):
    def test_a_wrong_file_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "reference.csv"
            path.write_text("workload,optimus_avg_jct_s\nworkload-1,x\n", encoding="utf-8")
            with self.assertRaisesRegex(BadConfig, "reference.csv"):
                load_reference(path)


if __name__ == "__main__":
    unittest.main()
