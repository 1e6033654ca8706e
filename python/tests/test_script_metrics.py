"""Metrics and early ends of scripts that Rubato runs: real leaders, replicas and supervisors."""

import os
import unittest

import scene
import torch

LOOP = """
import atexit, os, sys, time
import torch, rubato
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
torch.manual_seed(3)
inputs = torch.randn(96, 6)
loader = DataLoader(TensorDataset(inputs, inputs.sin().sum(1, keepdim=True)), batch_size=24)
model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
atexit.register(lambda: print("at exit", flush=True))
step = 0
def run(report, steps=400):
    global step
    try:
        while step < steps:
            for x, y in loader:
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()
                step += 1
                time.sleep(0.005)
                if report(step, loss) is False:
                    return
        print("to its end", flush=True)
    finally:
        print(f"finally after {step}", flush=True)
"""


class ScriptMetricsTest(scene.ScriptCase):
    def train_in(self, text, *flags, steps=400):
        """Runs a script with a directory of its own; the timeline, its words and its metrics."""
        script = self.write(LOOP + text)
        directory = self.folder / "job"
        timeline, words = self.train(
            script, flags=["--directory", str(directory), "--steps", str(steps), *flags])
        path = directory / "metrics"
        lines = path.read_text().splitlines() if path.exists() else []
        points = {}
        for line in lines:
            _, step, value, name = line.split(" ", 3)
            points.setdefault(name, []).append((int(step), float(value)))
        return timeline, words, points

    def test_what_is_logged_and_printed_is_kept_with_its_step(self):
        timeline, _, points = self.train_in("""
def report(step, loss):
    rubato.log({"loss": loss}, step=1000 + step)
    rubato.log(done=step)
    if step % 50 == 0:
        print(f"step {step}: val acc={step / 1000}, loss: 7.5", flush=True)
run(report, 200)
""", steps=200)

        self.assertEqual(timeline["steps"], 200)
        self.assertEqual(points["loss"][-1][0], 1200)
        self.assertNotIn(7.5, [value for _, value in points["loss"]], "it is logged")
        self.assertTrue(all(step == value for step, value in points["done"]), points["done"])
        printed = dict((value, step) for step, value in points["val_acc"])
        self.assertEqual(sorted(printed), [0.05, 0.1, 0.15, 0.2])
        for value, step in printed.items():
            self.assertLess(abs(1000 * value - step), 30, "the step when the line came")

    def test_a_rule_ends_the_script_between_two_steps_with_its_state_saved(self):
        timeline, words, points = self.train_in("""
def report(step, loss):
    rubato.log(accuracy=step / 100)
run(report)
""", "--workers", "2", "--until", "accuracy >= 0.9 for 3")

        self.assertEqual(timeline["outcome"], "finished")
        self.assertRegex(words,
                         r"ended by --until accuracy >= 0.9 for 3 \(0\.9\d* at step \d+ of at "
                                r"most 400\)")
        self.assertRegex(words, r"finally after \d+\nat exit")
        self.assertNotIn("to its end", words)
        state = torch.load(self.folder / "job" / "until.pt")
        self.assertEqual(state["step"], timeline["steps"])
        self.assertLess(state["step"], 300)
        model = torch.nn.Sequential(
            torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 1))
        model.load_state_dict(state["models"]["Sequential"])
        torch.optim.Adam(model.parameters()).load_state_dict(state["optimizers"][0])
        self.assertGreaterEqual(points["accuracy"][-1][1], 0.92)

    def test_a_printed_number_ends_a_script_that_knows_nothing_of_us(self):
        timeline, words, _ = self.train_in("""
def report(step, loss):
    if step % 10 == 0:
        print(f"epoch {step // 4}: Test accuracy: {step}%", flush=True)
run(report)
""", "--until", "test accuracy >= 90%")

        self.assertEqual(timeline["outcome"], "finished")
        self.assertIn("ended by --until test_accuracy >= 0.9 (0.9 at step ", words)

    def test_a_script_that_asks_ends_by_itself(self):
        timeline, words, _ = self.train_in("""
def report(step, loss):
    rubato.log(accuracy=step / 100)
    if rubato.should_stop():
        print("stops by itself", flush=True)
        return False
run(report)
""", "--until", "accuracy >= 0.5")

        self.assertEqual(timeline["outcome"], "finished")
        self.assertIn("stops by itself\nfinally after", words)

    def test_event_files_of_the_script_are_read(self):
        _, _, points = self.train_in("""
sys.path.insert(0, os.environ["TESTS"])
import test_metrics as bytes_of
os.chdir(os.environ["TESTS_FOLDER"])
file = open(f"events.out.tfevents.1700000000.host.{os.getpid()}.0", "wb", buffering=0)
def report(step, loss):
    file.write(bytes_of.event(step, bytes_of.simple("from/file", step / 4)))
run(report, 40)
""", steps=40)

        self.assertEqual(points["from/file"][0], (1, 0.25))
        self.assertEqual(points["from/file"][-1], (40, 10.0))

    def test_a_name_that_nothing_has_is_told_with_the_nearest(self):
        _, words, _ = self.train_in("""
def report(step, loss):
    rubato.log(acuracy=step / 100)
run(report, 200)
""", "--until", "accuracy >= 50", steps=200)

        self.assertIn("--until accuracy >= 50: no metric has that name so far", words)
        self.assertIn("did you mean 'acuracy'?", words)

    def setUp(self):
        super().setUp()
        for name, value in {"TESTS": os.path.dirname(os.path.abspath(__file__)),
                            "TESTS_FOLDER": str(self.folder)}.items():
            scene.ENVIRONMENT[name] = value
            self.addCleanup(scene.ENVIRONMENT.pop, name)


if __name__ == "__main__":
    unittest.main()
