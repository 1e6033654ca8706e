"""`rubato check`: the right verdict on right and wrong runs, and files that stay as they are."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

from scene import ENVIRONMENT, ScriptCase

TRAINING = """
    import argparse
    import torch
    from torch import nn
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    epochs = parser.parse_args().epochs
    torch.manual_seed(3)
    inputs = torch.randn(208, 8)
    targets = inputs.sin().sum(1, keepdim=True)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(inputs, targets), batch_size=16, shuffle=True)
    {model}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for epoch in range(epochs):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {extra}
"""
PLAIN = "model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))"
COUPLED = """
    class Coupled(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 1)
        def forward(self, x):
            return self.layer(x - x.mean(0))
    model = Coupled()
"""

# The last bias has no gradient but for rounding, and Adam makes a whole step of that.
CANCELLED = """
    import torch
    from torch import nn
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.0, 0.9))
    for step in range(20):
        loss = model(torch.randn(80, 8)).mean() - model(torch.randn(80, 8).cos()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

SHORT = ("--short", "--seconds", "200")  # A busy machine is slow.


def script(model=PLAIN, extra="pass"):
    return TRAINING.format(model=model.strip(), extra=extra)


class CheckCase(ScriptCase):
    """Runs the check as the program does."""

    def check(self, path, *arguments, flags=(), **environment):
        package = os.environ.get("PYTHONPATH", "")
        done = subprocess.run(
            [sys.executable, "-m", "rubato.check", *flags, "--", str(path),
             *map(str, arguments)],
            cwd=self.folder, env={**ENVIRONMENT, "PYTHONPATH": package, **environment},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=250, check=False)
        return done

    def findings(self, path, *arguments, flags=(), **environment):
        done = self.check(path, *arguments, flags=("--json", "--seconds", "200", *flags),
                          **environment)
        try:
            return {**json.loads(done.stdout), "code": done.returncode}
        except ValueError:
            self.fail(f"no JSON: {done.stdout}{done.stderr}")

    def files(self):
        return {str(path.relative_to(self.folder)): path.read_bytes()
                for path in self.folder.rglob("*") if path.is_file()}


class TestVerdicts(CheckCase):
    """Exit code 0 only if shared and plain runs agree."""

    def test_a_right_script_agrees_through_resizes_and_kills(self):
        found = self.findings(self.write(script()))

        self.assertEqual((found["verdict"], found["code"]), ("agrees", 0), found)
        self.assertTrue(any(root["split"] for root in found["roots"]))
        self.assertGreater(found["replicas_killed"], 0)
        self.assertTrue(found["leader_killed"])
        self.assertEqual(set(found["resizes"]), {1, 2, 3})
        self.assertEqual(found["steps"], 12)
        self.assertGreater(found["leader_bytes"], 0)
        self.assertGreater(found["replica_bytes"], 0)

    def test_wrong_gradients_of_shared_calls_are_noticed(self):
        found = self.findings(self.write(script()), RUBATO_TEST_PERTURB="1e-3")

        self.assertEqual((found["verdict"], found["code"]), ("differs", 65), found)

    def test_amplified_rounding_is_told_from_wrong_gradients_in_double_precision(self):
        path = self.write(CANCELLED)
        found = self.findings(path)
        wrong = self.findings(path, RUBATO_TEST_PERTURB="1e-3")

        self.assertTrue(found["is_settled_in_double"], found)
        self.assertEqual((found["verdict"], found["code"]), ("agrees", 0), found)
        self.assertEqual((wrong["verdict"], wrong["code"]), ("differs", 65), wrong)

    def test_lazy_layers_and_traced_modules_are_not_disturbed(self):
        lazy = PLAIN.replace("nn.Linear(8, 32)", "nn.LazyLinear(32)")
        for model in (lazy, f"{PLAIN}; model = torch.jit.trace(model, inputs[:2])"):
            with self.subTest(model):
                found = self.findings(self.write(script(model)), flags=("--short",))

                self.assertEqual((found["verdict"], found["code"]), ("agrees", 0), found)

    def test_a_model_that_couples_samples_is_told_and_still_right(self):
        found = self.findings(self.write(script(COUPLED)))

        self.assertEqual((found["verdict"], found["code"]), ("agrees", 0), found)
        reasons = [reason for root in found["roots"] for reason in root["reasons"]]
        self.assertTrue(any("output 0" in reason for reason in reasons), reasons)

    def test_dropout_is_compared_with_its_random_numbers_held_constant(self):
        model = "model = nn.Sequential(nn.Linear(8, 32), nn.Dropout(0.5), nn.Linear(32, 1))"
        path = self.write(script(model))
        found = self.findings(path)
        wrong = self.findings(path, RUBATO_TEST_PERTURB="1e-3")

        self.assertEqual((found["verdict"], found["code"]), ("agrees", 0), found)
        self.assertTrue(found["holds_constant"])
        self.assertEqual(wrong["code"], 65, wrong)

    def test_a_script_that_differs_from_run_to_run_cannot_be_compared(self):
        path = self.write(script(extra="x.data").replace(
            "torch.manual_seed(3)", "torch.seed()"))
        found = self.findings(path)

        self.assertEqual((found["verdict"], found["code"]), ("not comparable", 75), found)

    def test_a_script_that_fails_is_told_in_its_own_words(self):
        done = self.check(self.write(script(extra="raise KeyError('no such thing')")),
                          flags=("--seconds", "200"))

        self.assertEqual(done.returncode, 65)
        self.assertIn("KeyError: 'no such thing'", done.stdout)
        self.assertNotIn("dry_run.py", done.stdout)

    def test_a_script_without_a_step_is_not_checked(self):
        done = self.check(self.write("print('nothing to train')"), flags=("--seconds", "200"))

        self.assertEqual(done.returncode, 75)
        self.assertIn("without a step", done.stdout)


class TestFiles(CheckCase):
    """Nothing on the disk changes."""

    WRITING = ("open('log.txt', 'a').write('x'); open('data.csv', 'w').write('lost'); "
               "torch.save(model.state_dict(), 'best.pt'); "
               "__import__('os').path.exists('old.txt') and __import__('os').remove('old.txt')")

    def test_the_users_files_stay_as_they_are(self):
        path = self.write(script(extra=self.WRITING))
        self.write("precious", "data.csv")
        self.write("old", "old.txt")
        before = self.files()
        found = self.findings(path)

        self.assertEqual((found["verdict"], found["code"]), ("agrees", 0), found)
        self.assertEqual(self.files(), before)

    def test_without_namespaces_a_copy_of_the_folder_is_written_to(self):
        path = self.write(script(extra=self.WRITING))
        self.write("precious", "data.csv")
        before = self.files()
        found = self.findings(path, RUBATO_CHECK_COPY="1")

        self.assertEqual((found["verdict"], found["code"]), ("agrees", 0), found)
        self.assertEqual(self.files(), before)

    def test_without_namespaces_a_write_elsewhere_stops_the_run(self):
        target = self.folder.parent / f"{self.folder.name}-elsewhere"
        path = self.write(script(extra=f"torch.save(model.state_dict(), '{target}')"))
        found = self.findings(path, RUBATO_CHECK_COPY="1")

        self.assertEqual((found["verdict"], found["code"]), ("not run", 75), found)
        self.assertIn(str(target), found["reason"])
        self.assertFalse(Path(target).exists())


class TestSteps(CheckCase):
    """Steps and epochs are read from the script's loops."""

    def test_a_wrong_number_of_steps_is_told(self):
        path = self.write(script())
        right = self.check(path, "--epochs", 7, flags=(*SHORT, "--steps", "91"))
        wrong = self.check(path, "--epochs", 7, flags=(*SHORT, "--steps", "100"))

        self.assertNotIn("WARNING", right.stderr)
        self.assertIn("takes 91 steps (13 per epoch, 7 epochs), and --steps says 100",
                      wrong.stderr)
        self.assertEqual((right.returncode, wrong.returncode), (0, 0), wrong.stderr)

    def test_accumulation_and_an_early_end_are_seen(self):
        text = script(extra="if loss < 1e-9: break").replace(
            "for x, y in loader", "for i, (x, y) in enumerate(loader)").replace(
            "optimizer.step()", "(i % 2 == 0) and optimizer.step()")
        found = self.findings(self.write(text))

        self.assertEqual(found["loops"]["steps_per_epoch"], 6)
        self.assertEqual((found["loops"]["bound"], found["loops"]["steps"]), ("at most", 30))


if __name__ == "__main__":
    unittest.main()
