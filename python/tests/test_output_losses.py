"""Losses of shared outputs, computed on the parts, agree with plain Python."""

import unittest
from pathlib import Path

import output_loss_cases
import torch
from test_split import SplitCase, distance

CASES_FILE = Path(__file__).with_name("output_loss_cases.py")
TOLERANCE = 1e-9
KILLED = ",".join(f"{call}:{'FLB'[call // 9 % 3]}" for call in range(9, 400, 9))


class OutputLossTest(SplitCase):
    def plain_cases(self, *names):
        path = self.folder / "plain.pt"
        done = self.run_python(CASES_FILE, path, *names)
        self.assertEqual(done.returncode, 0, done.stderr)
        return torch.load(path)

    def split_cases(self, *names, **options):
        path = self.folder / "split.pt"
        done, report = self.run_script(CASES_FILE, path, *names, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return torch.load(path), report

    def test_all_agree_with_plain_python_through_resizes_and_deaths(self):
        plain = self.plain_cases()
        for plan, kill in (("0:2", ""), ("0:2,60:3,150:2", KILLED)):
            ours, report = self.split_cases(plan=plan, RUBATO_SPLIT_KILL=kill)
            for name, expected in plain.items():
                with self.subTest(name, plan=plan):
                    on_parts = ours[name].pop("on parts")
                    self.assertEqual(on_parts > 0, name.startswith("shared"), on_parts)
                    expected = {key: expected[key] for key in ours[name]}
                    self.assertLess(distance(ours[name], expected), TOLERANCE)
            self.assertEqual(report["replica_deaths"] > 10, bool(kill))

    def test_a_wrong_gradient_would_be_noticed(self):
        name = "shared_logits_of_all_positions"
        ours, _ = self.split_cases(name, RUBATO_TEST_PERTURB="1e-6")

        self.assertGreater(distance(ours[name]["seen"], self.plain_cases(name)[name]["seen"]),
                           TOLERANCE)

    def test_small_outputs_are_not_worth_a_message(self):
        name = "shared_logits_of_all_positions"
        ours, _ = self.split_cases(name, RUBATO_SPLIT_ALWAYS="")

        self.assertEqual(ours[name]["on parts"], 0)


if __name__ == "__main__":
    unittest.main()
