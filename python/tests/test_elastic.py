"""Jobs of several workers that come, go and die, run by `rubato train`."""

import collections
import json
import unittest

import scene

TRAINER = """
import os, sys, time, torch, rubato
torch.set_num_threads(1)
torch.manual_seed(11)
inputs = torch.randn(96, 6)
numbers = torch.arange(96)
data = torch.utils.data.TensorDataset(inputs, inputs.sin().sum(1, keepdim=True), numbers)
norm = [torch.nn.BatchNorm1d(12), torch.nn.Dropout(0.1)] if "norm" in sys.argv else []
model = torch.nn.Sequential(torch.nn.Linear(6, 12), *norm, torch.nn.Tanh(), torch.nn.Linear(12, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10, 0.9)
trainer = rubato.Trainer(model, optimizer, data, batch=24, epochs=int(sys.argv[1]),
                         schedulers=schedule, deterministic="fixed" in sys.argv)
def pace():  # Gives two newcomers that are ordered at step 20 the time to get warm.
    if 20 < trainer.step_number < 55 and trainer.metrics["workers"] < 4:
        time.sleep(0.1 if trainer.step_number < 30 else 5)
log = open(sys.argv[2] + f"/{os.environ['RUBATO_WORKER']}.log", "a", buffering=1)
for x, y, number in trainer:
    if not trainer.is_warming_up:
        print(trainer.step_number, trainer.epoch, trainer.generation, *number.tolist(), file=log)
    trainer.step(torch.nn.functional.mse_loss(model(x), y))
    if "paced" in sys.argv:
        pace()
"""

# Knows nothing of us. It writes what it has counted and how its loss fell.
PLAIN = """
import json, sys, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
class Meter:
    def __init__(self):
        self.count = 0
def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        return sum(nn.functional.mse_loss(model(x), y).item() for x, y in loader)
def train_epoch(model, loader, optimizer, warm, meter):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        warm.step()
        meter.count += 1
def main(epochs, path):
    torch.set_num_threads(1)
    torch.manual_seed(5)
    # Adam makes steps of the rounding of a gradient that should be zero: that of a bias before
    # batch normalisation. In double precision these stay small.
    torch.set_default_dtype(torch.float64)
    inputs = torch.randn(96, 6)
    data = TensorDataset(inputs, inputs.sin().sum(1, keepdim=True))
    # With a bias before the normalisation, whose gradient is rounding alone, Adam would wander.
    model = nn.Sequential(nn.Linear(6, 12, bias=False), nn.BatchNorm1d(12), nn.Tanh(),
                          nn.Linear(12, 1))
    loader = DataLoader(data, batch_size=24, shuffle=True)
    test_loader = DataLoader(data, batch_size=48)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 9))
    meter, history = Meter(), []
    for epoch in range(epochs):
        train_epoch(model, loader, optimizer, warm, meter)
        history.append(evaluate(model, test_loader))
    counts = [meter.count, warm.last_epoch, model[1].num_batches_tracked.item()]
    with open(path + "/results", "a") as file:
        print(json.dumps({"counts": counts, "history": history}), file=file)
    print("trained", meter.count)
main(int(sys.argv[1]), sys.argv[2])
"""

# Without the layer that looks at all parts of a batch.
UNNORMALISED = PLAIN.replace("nn.BatchNorm1d(12),", "").replace(
    "model[1].num_batches_tracked.item()", "meter.count")


class TrainerTest(scene.ScriptCase):
    def trained(self, epochs, *options, flags=()):
        script = self.write(TRAINER)
        report, _ = self.train(script, epochs, self.folder, *options, flags=flags)
        self.assertEqual(report["outcome"], "finished")
        self.assertTrue(report["hashes_agree"])
        self.assertEqual(report["steps"], 4 * epochs)
        return report

    def assert_every_sample_once(self, epochs):
        """Of the attempts at a step, the one in the newest group is the one that counts."""
        attempts = collections.defaultdict(list)
        for path in self.folder.glob("*.log"):
            for line in path.read_text(encoding="utf-8").splitlines():
                step, epoch, generation, *samples = map(int, line.split())
                attempts[step, epoch].append((generation, samples))
        used = collections.Counter()
        for (_, epoch), parts in attempts.items():
            newest = max(generation for generation, _ in parts)
            used.update((epoch, sample) for generation, samples in parts
                        for sample in samples if generation == newest)
        self.assertEqual(used, {(e, s): 1 for e in range(epochs) for s in range(96)})

    def test_two_workers_come_close_to_one(self):
        one = self.trained(5, flags=["--workers", "1"])
        two = self.trained(5, flags=["--workers", "2"])

        self.assertAlmostEqual(one["loss"], two["loss"], places=5)

    def test_resizes_and_a_death_use_every_sample_once(self):
        report = self.trained(40, "paced",
                              flags=["--workers", "2", "--resize",
                                     "at step 20: 4; at step 60: 1; at step 80: 3",
                                     "--kill", "worker 1 at step 110"])

        self.assertGreater(len(report["generations"]), 3)
        self.assert_every_sample_once(40)

    def test_fixed_shards_give_the_same_bits_for_every_history(self):
        options = ("fixed", "norm")
        expected = self.trained(30, *options, flags=["--workers", "1"])["parameter_hash"]

        for flags in (["--workers", "3"],
                      ["--workers", "1", "--resize", "at step 15: 4; at step 50: 2"],
                      ["--workers", "3", "--kill", "worker 2 at step 20; worker 0 at step 60"]):
            with self.subTest(flags=flags):
                self.assertEqual(self.trained(30, *options, flags=flags)["parameter_hash"],
                                 expected)

    def test_more_workers_than_samples(self):
        script = self.write(TRAINER.replace("batch=24", "batch=2"))
        report, _ = self.train(script, 1, self.folder, flags=["--workers", "4"])

        self.assertEqual(report["steps"], 48)
        self.assert_every_sample_once(1)

    def test_a_snapshot_is_resumed_from(self):
        state = self.folder / "state"
        flags = ["--workers", "1", "--snapshot-steps", "10", "--directory", str(state)]
        whole = self.trained(10, "fixed", "norm", flags=["--workers", "1"])

        self.trained(5, "fixed", "norm", flags=flags)
        report, _ = self.train(self.folder / "script.py", 10, self.folder, "fixed", "norm",
                               flags=flags)

        self.assertEqual(report["parameter_hash"], whole["parameter_hash"])

    def test_a_failure_of_the_script_is_the_job_s(self):
        script = self.write(TRAINER.replace("trainer.step(", "1 / 0; trainer.step("))
        report, words = self.train(script, 1, self.folder, flags=["--workers", "2"],
                                   succeeds=False)

        self.assertEqual((report["outcome"], report["exit_code"]), ("failed", 1))
        self.assertIn("ZeroDivisionError", words + report["reason"])


class ScriptTest(scene.ScriptCase):
    """A script as it is runs in one process, whose model's calls the others share."""

    def trained(self, epochs, flags, script=PLAIN, **environment):
        report, words = self.train(self.write(script), epochs, self.folder, flags=flags,
                                   RUBATO_SPLIT_ALWAYS="1", **environment)
        self.assertEqual((report["outcome"], report["steps"]), ("finished", 4 * epochs))
        self.assertEqual(words.count("trained"), 1, words)
        return report, self.result()

    def result(self):
        """Of the one process that runs the script."""
        path = self.folder / "results"
        lines = path.read_text(encoding="utf-8").splitlines()
        path.unlink()
        self.assertEqual(len(lines), 1)
        return json.loads(lines[0])

    def assert_like_plain(self, epochs, result, script=PLAIN):
        done = self.run_python(self.write(script), epochs, self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        plain = self.result()
        self.assertEqual(result["counts"], plain["counts"])
        for ours, expected in zip(result["history"], plain["history"], strict=True):
            self.assertAlmostEqual(ours, expected, delta=1e-7 * expected)

    def test_runs_once_and_gives_what_plain_python_gives(self):
        for workers in ("1", "3"):
            with self.subTest(workers=workers):
                report, result = self.trained(10, ["--workers", workers])

                self.assertEqual(len(report["generations"][-1]["members"]), int(workers))
                self.assert_like_plain(10, result)

    def test_resizes_and_deaths_of_replicas_change_nothing(self):
        report, result = self.trained(
            60, ["--workers", "1", "--resize", "at step 40: 3; at step 120: 2; at step 160: 3",
                 "--kill", "worker 1 at step 100; worker 2 at step 200"])

        self.assertGreater(len(report["generations"]), 3)
        self.assert_like_plain(60, result)

    def test_the_death_of_the_process_that_runs_it_changes_nothing(self):
        _, result = self.trained(30, ["--workers", "2", "--kill", "worker 0 at step 60"])

        self.assert_like_plain(30, result)

    def test_may_stop_in_the_middle_of_an_epoch(self):
        stopping = PLAIN.replace("meter.count += 1", "meter.count += 1\n"
                                 "        if meter.count == 10:\n            break")
        stopping = stopping.replace("for epoch in range(epochs):", "while meter.count < 10:")
        report, _ = self.train(self.write(stopping), 1, self.folder, flags=["--workers", "2"])

        self.assertEqual((report["outcome"], report["steps"]), ("finished", 10))

    def test_a_failure_of_the_script_is_the_job_s_and_is_shown_once(self):
        failing = PLAIN.replace("meter.count += 1", "meter.count += 1; 1 / (8 - meter.count)")
        report, words = self.train(self.write(failing), 4, self.folder, flags=["--workers", "2"],
                                   succeeds=False, RUBATO_SPLIT_ALWAYS="1")

        self.assertEqual((report["outcome"], report["exit_code"]), ("failed", 1))
        self.assertEqual(words.count("Traceback"), 1, words)
        self.assertIn("ZeroDivisionError", words)

    def test_deterministic_parts_give_the_same_bits_for_every_history(self):
        hashes = {
            self.trained(20, flags, UNNORMALISED, RUBATO_DETERMINISTIC="1")[0]["parameter_hash"]
            for flags in (["--workers", "1"], ["--workers", "4"],
                          ["--workers", "2", "--resize", "at step 9: 3; at step 50: 1"],
                          ["--workers", "3", "--kill", "worker 2 at step 20"])
        }
        self.assertEqual(len(hashes), 1)


if __name__ == "__main__":
    unittest.main()
