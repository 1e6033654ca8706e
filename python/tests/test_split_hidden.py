"""What the first batches of a script do not show is found all the same, or makes no difference."""

import unittest
from pathlib import Path

import scene  # noqa: F401  Leaves if torch is not installed.
import split_cases_hidden
import torch
from test_split import TOLERANCE, SplitCase, distance

CASES_FILE = Path(split_cases_hidden.__file__)
# Classes whose calls may not be split, and a word of the reason.
UNSPLIT = {
    "ImaginaryCoupling": "of a part is not that part",
    "NormWithAnOwnForward": "forward changes the buffer",
    "NormWithoutStatisticsOfItsOwn": "do not compute the same",
    "GhostsOfABatch": "forward changes the buffer",
    "HookThatKeepsGradients": "forward changes attributes",
    "FileWrittenInForward": "writes to a file",
    "AverageThroughData": "forward changes the buffer average",
    "AverageOfParametersInForward": "forward changes parameters",
    "LastHiddenLayer": "forward changes attributes",
    "ChosenByAMean": "depends on the other samples",
    "GatesThatAreZero": "of a part is not that part",
    "MaskOfTheBatch": "that all samples share",
    "ForwardOfOneLayer": "of a part is not that part",
}
# Those that are one with fixed statistics.
EVALUATED = ("NormWithAnOwnForward", "GhostsOfABatch")
# Those that must be split.
SPLIT = {"ComplexOutputs", "GlobalNameOfABackward", "WeightsOfAHook", "Checkpointed",
         "FirstLayers", "LastLayers"}


class HiddenTest(SplitCase):
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
        roots = {root["name"]: root for root in report["roots"]}
        for name, reason in UNSPLIT.items():
            with self.subTest(name):
                self.assertIn(reason, str(roots[name]["reasons"]))
                self.assertLessEqual(roots[name]["split"], EVALUATED.count(name))
        for name in SPLIT:
            with self.subTest(name):
                self.assertGreater(roots[name]["split"], 0, roots[name])
                self.assertEqual(roots[name]["reasons"], [])


if __name__ == "__main__":
    unittest.main()
