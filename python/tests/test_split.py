"""Scripts whose model calls are shared, through `python3 -m rubato.split`: they end as in plain
Python, whatever happens to the replicas."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

import scene
import split_cases
import torch
from split_reader_cases import READER_NAMES

CASES_FILE = Path(split_cases.__file__)
TOLERANCE = 1e-9
# Workers by calls of root modules, again and again; and replicas killed in between.
RESIZED = ",".join(f"{13 * k}:{(1, 2, 3, 1, 2)[k % 5]}" for k in range(200))
KILLED = ",".join(f"{17 * k}:{'FB'[k % 2]}" for k in range(1, 60))
ONE_ROUND = "0:1,10:2,20:3,30:1,40:2"  # Of the fifty calls of one case.

# The class of each case that must not be split, and a word of the reason.
UNSPLIT = {
    "MeanOverTheBatch": "output 0 of a part is not that part of the output of the batch",
    "QueueOfSamples": "forward replaces the buffer queue",
    "CounterInForward": "forward changes attributes of the module",
    "CounterOfAScriptedModule": "forward changes attributes of the module",
    "LossOfTheBatchInside": "one number for the whole batch",
    "HookAddedLater": "has hooks",
    "ExceptionsThatAreCaught": "forward reads values of the batch",
}
# The classes that must be split although something about them changes.
SPLIT = {
    "Plain", "AdamWithClipping", "AccumulationAndTwoCalls", "GradientsOfInputs",
    "GradientsOfGradients", "SecondBackward", "ClosuresOfAnOptimizer", "BatchNorm",
    "BatchNormWithoutMomentum", "BatchNormWithoutWeights", "BatchNormWithoutStatistics",
    "LossInside", "InnerBody", "AttributeThatChanges", "ContainerThatChanges",
    "ParametersBoundAnew", "WeightsLoaded", "AverageSwappedIn", "LayersAdded",
    "ParametersFrozenAndThawed",
    "HookAddedLater", "HookOnAGradient", "GlobalNames", "NamesOfAClosure",
    "NamesBehindAFunction", "FunctionReplaced", "TrainingAndEvaluation", "BatchesOfManySizes",
    "InferenceMode", "Scripted",
}


# From the eighteenth batch on samples look at each other: two calls are timed, sixteen shared.
COUPLED_LATER = """
import torch
from torch import nn
class CoupledLater(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
    def forward(self, inputs):
        found = self.layer(inputs)
        return found - found.mean(0) * ((inputs.mean() - 10).abs() < 2)
model = CoupledLater()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(40):
    optimizer.zero_grad()
    model(torch.rand(12, 4) * 10 ** (step >= 17) + 5).pow(2).mean().backward()
    optimizer.step()
"""


def distance(ours, plain):
    """The largest difference, relative to the size of the values; infinite where they are not of
    the same kind."""
    if isinstance(plain, torch.Tensor):
        if not isinstance(ours, torch.Tensor) or ours.shape != plain.shape:
            return float("inf")
        if plain.numel() == 0:
            return 0.0
        scale = max(1e-3, plain.double().abs().max().item())
        return (ours.double() - plain.double()).abs().max().item() / scale
    if isinstance(plain, dict):
        if not isinstance(ours, dict) or ours.keys() != plain.keys():
            return float("inf")
        return max((distance(ours[key], plain[key]) for key in plain), default=0.0)
    if isinstance(plain, (list, tuple)):
        if len(ours) != len(plain):
            return float("inf")
        return max(map(distance, ours, plain), default=0.0)
    return 0.0 if ours == plain else float("inf")


class SplitCase(scene.ScriptCase):
    def run_script(self, path, *arguments, plan="0:2", **environment):
        """As a leader; with the report of what was shared."""
        report = self.folder / "report.json"
        done = subprocess.run(
            [sys.executable, "-B", "-m", "rubato.split", str(path), *map(str, arguments)],
            env={**scene.ENVIRONMENT, "OMP_NUM_THREADS": "1", "RUBATO_SPLIT_PLAN": plan,
                 "RUBATO_SPLIT_ALWAYS": "1", "RUBATO_SPLIT_REPORT": str(report), **environment},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=250, check=False)
        return done, json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}

    def plain(self, *names):
        path = self.folder / "plain.pt"
        done = self.run_python(CASES_FILE, path, *names)
        self.assertEqual(done.returncode, 0, done.stderr)
        return torch.load(path)

    def split(self, *names, **options):
        path = self.folder / "split.pt"
        done, report = self.run_script(CASES_FILE, path, *names, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        report["words"] = done.stderr
        return torch.load(path), report

    def counts(self, report):
        return {root["name"]: root for root in report["roots"]}


class CasesTest(SplitCase):
    def assert_alike(self, ours, plain):
        for name in plain:
            with self.subTest(name):
                self.assertNotIn("error", plain[name])
                self.assertNotIn("error", ours[name], ours[name].get("error"))
                self.assertLess(distance(ours[name], plain[name]), TOLERANCE)

    def test_changes_of_what_forward_reads_elsewhere_are_noticed(self):
        ours, _ = self.split(*READER_NAMES)

        self.assert_alike(ours, self.plain(*READER_NAMES))

    def test_all_agree_with_plain_python_through_resizes_and_deaths(self):
        names = [name for name in split_cases.CASES if name not in READER_NAMES]
        plain = self.plain(*names)
        for plan, kill in (("0:2", ""), (RESIZED, KILLED)):
            ours, report = self.split(*names, plan=plan, RUBATO_SPLIT_KILL=kill)

            self.assert_alike(ours, plain)
            self.assertEqual(report["replica_deaths"] > 10, bool(kill))
            found = self.counts(report)
            for name in SPLIT:
                with self.subTest(name, plan=plan[:5]):
                    self.assertGreater(found[name]["split"], 0, found[name]["reasons"])
            for name, reason in UNSPLIT.items():
                with self.subTest(name, plan=plan[:5]):
                    self.assertIn(reason, " ".join(found[name]["reasons"]))
                    self.assertEqual(report["words"].count(f"calls of {name} are not split"), 1)

    def test_later_batches_are_tried_as_the_first_was(self):
        done, report = self.run_script(self.write(COUPLED_LATER))

        self.assertEqual(done.returncode, 0, done.stderr)
        root = self.counts(report)["CoupledLater"]
        self.assertIn("found on the batch of step 18", root["reasons"][0])
        self.assertIn("results of this run may be wrong", done.stderr)
        self.assertEqual(root["split"], 16)
        self.assertEqual(root["unsplit"], 40 - 16)
        self.assertIn("calls of CoupledLater are not split", done.stderr)

    def test_one_round_of_resizes_with_deaths_in_forward_and_backward(self):
        ours, report = self.split("plain", plan=ONE_ROUND, RUBATO_SPLIT_KILL="3:F,9:B,15:F,25:B")

        self.assertLess(distance(ours, self.plain("plain")), TOLERANCE)
        self.assertEqual(report["replica_deaths"], 4)
        self.assertEqual([(r["from"], r["to"]) for r in report["resizes"]][0], (1, 2))
        self.assertIn(3, [r["to"] for r in report["resizes"]])

    def test_a_wrong_gradient_would_be_seen(self):
        ours, _ = self.split("plain", "batch_norm", plan=ONE_ROUND, RUBATO_TEST_PERTURB="1e-6")
        plain = self.plain("plain", "batch_norm")

        for name in plain:
            self.assertGreater(distance(ours[name], plain[name]), 10 * TOLERANCE)

    def test_deterministic_parts_give_the_same_bits_for_every_history(self):
        names = ("plain", "adam_with_clipping", "attribute_that_changes", "batch_norm")
        expected, _ = self.split(*names, plan="0:1", RUBATO_DETERMINISTIC="1")
        for plan, kill in (("0:2", ""), ("0:3", ""), (RESIZED, KILLED)):
            with self.subTest(plan=plan[:10]):
                ours, _ = self.split(*names, plan=plan, RUBATO_DETERMINISTIC="1",
                                     RUBATO_SPLIT_KILL=kill)

                self.assertEqual(distance(ours, expected), 0.0)


FAILING = """
import torch
from torch import nn
class Failing(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 1)
        self.step = 0
    def forward(self, x):
        if WHEN:
            raise KeyError("no such sample")
        return self.layer(x)
model = Failing()
torch.manual_seed(1)
for step in range(20):
    model.step = step
    model(torch.randn(8, 6)).sum().backward()
"""


class FailureTest(SplitCase):
    def test_an_exception_in_forward_is_the_user_s_own(self):
        # Of every part, and of a part that a replica computes.
        for when in ("self.step == 12",
                     "self.step == 12 and (x[-1] == x[7:8]).all() and len(x) != 5"):
            with self.subTest(when):
                path = self.write(FAILING.replace("WHEN", when))
                plain = self.run_python(path)
                done, report = self.run_script(path)

                self.assertEqual(done.returncode, plain.returncode, done.stderr)
                self.assertEqual(done.returncode, 1)
                self.assertEqual(done.stderr.count("Traceback (most recent call last)"), 1,
                                 done.stderr)
                self.assertEqual(done.stderr.count("KeyError: 'no such sample'"), 1)
                self.assertIn('raise KeyError("no such sample")', done.stderr)
                self.assertGreater(self.counts(report)["Failing"]["split"], 5)

    def test_exit_codes_and_output_are_those_of_the_script(self):
        path = self.write("""
            import sys, torch
            model = torch.nn.Linear(4, 2)
            for step in range(12):
                model(torch.ones(6, 4)).sum().backward()
                sys.stdout.write(f"step {step} ")
            sys.exit(7)
        """)
        done, report = self.run_script(path)

        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(done.stdout, "".join(f"step {step} " for step in range(12)))
        self.assertGreater(self.counts(report)["Linear"]["split"], 5)


if __name__ == "__main__":
    unittest.main()
