"""Forwards that depend on more than parameters and arguments end as in plain Python."""

import unittest
from pathlib import Path

import scene  # noqa: F401  Leaves if torch is not installed.
import split_cases_outside
import torch
from test_split import TOLERANCE, SplitCase, distance

CASES_FILE = Path(split_cases_outside.__file__)
# Classes whose calls may not be split, and a word of the reason.
UNSPLIT = {
    "LayerOfTheFile": "need gradients",
    "WeightOfTheFile": "need gradients",
    "LayerInAList": "need gradients",
    "WeightsThatHaveAHistory": "need gradients",
    "BatchesThatCoupleSamples": "reads values of the batch",
    "CountOfSamples": "forward changes the global name SEEN",
    "Centred": "output 0 of a part is not that part",
}
# Those that are split as long as they can be.
SPLIT = {"Configured", "Tabled", "Centred", "SingleSamplesFirst", "WeightsThatHaveAHistory"}


class OutsideTest(SplitCase):
    def test_all_agree_with_plain_python(self):
        path = self.folder / "plain.pt"
        done = self.run_python(CASES_FILE, path)
        self.assertEqual(done.returncode, 0, done.stderr)
        plain = torch.load(path)

        ours_path = self.folder / "split.pt"
        done, report = self.run_script(CASES_FILE, ours_path)
        self.assertEqual(done.returncode, 0, done.stderr)
        ours = torch.load(ours_path)

        for name in plain:
            with self.subTest(name):
                self.assertLess(distance(ours[name], plain[name]), TOLERANCE)
        roots = {}
        for root in report["roots"]:
            roots.setdefault(root["name"], []).append(root)
        for name, reason in UNSPLIT.items():
            with self.subTest(name):
                self.assertIn(reason, str([root["reasons"] for root in roots[name]]))
        for name in SPLIT:
            with self.subTest(name):
                self.assertGreater(sum(root["split"] for root in roots[name]), 0, roots[name])
        self.assertEqual(roots["SingleSamplesFirst"][0]["reasons"], [])


if __name__ == "__main__":
    unittest.main()
