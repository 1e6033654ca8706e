"""The examples run, on real data, with workers that come and go."""

import re
import unittest
from pathlib import Path

import scene

EXAMPLES = scene.ROOT / "examples"
IMAGES = Path("/usr/share/datasets/fashion-mnist")
TEXT = Path("/usr/share/dictd/gcide.dict.dz")
RESIZED = ["--workers", "1", "--resize", "at step 8: 2"]


class ExampleTest(scene.ScriptCase):
    def output(self, name, *arguments):
        report, words = self.train(EXAMPLES / name / "train.py", *arguments, flags=RESIZED)
        self.assertEqual(report["outcome"], "finished")
        self.assertTrue(report["hashes_agree"])
        return words

    @unittest.skipUnless(IMAGES.exists(), "dataset-fashion-mnist is not installed")
    def test_fashion_mnist(self):
        path = self.folder / "best.pt"
        words = self.output("fashion_mnist", "--epochs", 2, "--limit", 4000, "--save", path)

        found = re.findall(r"^epoch (\d): accuracy (0\.\d+)", words, re.MULTILINE)
        self.assertEqual([epoch for epoch, _ in found], ["0", "1"], words)
        self.assertGreater(float(found[-1][1]), 0.6)
        self.assertTrue(path.exists())

    @unittest.skipUnless(IMAGES.exists(), "dataset-fashion-mnist is not installed")
    def test_fashion_mnist_with_the_trainer(self):
        words = self.output("fashion_mnist_sdk", "--epochs", 2, "--limit", 4000)

        found = re.search(r"^32 steps, accuracy (0\.\d+)", words, re.MULTILINE)
        self.assertIsNotNone(found, words)
        self.assertGreater(float(found[1]), 0.6)

    @unittest.skipUnless(TEXT.exists(), "dict-gcide is not installed")
    def test_dictionary_lm(self):
        words = self.output("dictionary_lm", "--steps", 40, "--letters", 60000)

        bits = [float(b) for b in re.findall(r"step \d+: ([0-9.]+) bits", words)]
        self.assertEqual(len(bits), 2, words)
        self.assertLess(bits[1], min(bits[0], 5.0))

    def test_criteo_like(self):
        words = self.output("criteo_like", "--samples", 20000, "--epochs", 2)

        reached, possible = map(float, re.search(r"AUC (0\.\d+) of (0\.\d+)", words).groups())
        self.assertGreater(reached, 0.65)
        self.assertLess(reached, possible)


if __name__ == "__main__":
    unittest.main()
