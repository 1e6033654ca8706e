"""Nobody can tell whether gradients were pending and steps were shared: loops that look at
everything see the same bits with and without it."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

import scene

from rubato._core import split

CASES = Path(__file__).with_name("fused_cases.py")
# By calls of the model: one worker, two, and as many as a scheduler might think of.
PLANS = {
    "one worker": "0:1",
    "two workers": "0:2",
    "resizes": "0:2,20:1,40:3,60:2,90:1,100:2,140:3,170:1,200:2,300:3,350:2",
}
# Where torch's own step is taken, or gradients are added up by autograd, with two workers.
UNSHARED = {
    "holds_a_gradient_from_the_beginning", "clips_by_value", "updates_by_hand",
    "two_calls_in_one_loss", "two_backwards_of_one_graph", "hook_on_a_parameter",
    "two_roots_and_one_optimizer", "state_is_held_from_the_beginning",
    "a_parameter_is_never_used", "double_precision",
}
UNKNOWN = {
    "updates_by_hand", "other_optimizers", "optimizers_of_other_kinds", "double_precision",
    "rates_that_are_tensors",
}
SECONDS_MAX = 280


def run(plan, names=(), **environment):
    """What each case has seen."""
    path = scene.ENVIRONMENT.get("PYTHONPATH", "")
    done = subprocess.run(
        [sys.executable, "-B", "-m", "rubato.split", str(CASES), *names],
        env={**scene.ENVIRONMENT, "PYTHONPATH": path, "OMP_NUM_THREADS": "1",
             "RUBATO_SPLIT_ALWAYS": "1", "RUBATO_SPLIT_PLAN": plan, **environment},
        capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode}: {done.stderr[-3000:]}")
    return {line["case"]: line for line in map(json.loads, done.stdout.splitlines())}


class SameBitsTest(unittest.TestCase):
    def compare(self, plan):
        without = run(PLANS[plan], RUBATO_FUSED_STEP="0")
        with_it = run(PLANS[plan], RUBATO_FUSED_STEP="1")
        self.assertEqual(without.keys(), with_it.keys())
        for name, found in with_it.items():
            with self.subTest(case=name, plan=plan):
                self.assertEqual(found["result"], without[name]["result"])
                self.assertEqual(without[name]["taken"], 0, "it was not turned off")
                if name not in UNKNOWN:
                    self.assertGreater(found["taken"], 0, "torch has taken all steps")
        return with_it

    def test_with_one_worker(self):
        for name, found in self.compare("one worker").items():
            self.assertEqual(found["helped"], 0, name)

    def test_with_two_workers(self):
        found = self.compare("two workers")
        for name in found.keys() - UNSHARED:
            self.assertGreater(found[name]["helped"], 0, f"{name}: no step was shared")
        self.assertGreater(found["replicas_are_killed_in_steps"]["deaths"], 10)

    def test_with_resizes(self):
        self.compare("resizes")

    @unittest.skipUnless(split.has_fused_step(), "there is only one kind of kernels here")
    def test_the_comparison_sees_one_rounding_too_many(self):
        """The kernels for processors without fused multiplication and addition are almost right."""
        names = ["sgd_with_momentum", "adam_set_to_none", "clipping", "groups_and_a_schedule"]
        right = run(PLANS["one worker"], names)
        wrong = run(PLANS["one worker"], names, CASES_WRONG_KERNELS="1")
        for name in names:
            self.assertNotEqual(right[name]["result"], wrong[name]["result"], name)


if __name__ == "__main__":
    unittest.main()
