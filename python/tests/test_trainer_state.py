"""State of a model beside its gradients, under the trainer: whoever comes, goes or dies, all
workers end with the values that one undisturbed worker has, or the job is refused with the
reason."""

import unittest

import scene
import torch

HEAD = """
import hashlib, os, sys, time, torch, rubato
from torch import nn
torch.set_num_threads(1)
torch.manual_seed(11)
inputs = torch.randn(96, 6)
data = torch.utils.data.TensorDataset(inputs, inputs.sin().sum(1, keepdim=True))
worker = int(os.environ.get("RUBATO_WORKER", "0"))
def grown(trainer, step, workers):
    '''Waits at a step until so many workers share it.'''
    until = time.monotonic() + 60
    is_short = trainer.metrics["workers"] < workers and time.monotonic() < until
    if trainer.step_number >= step and is_short and not trainer.is_warming_up:
        time.sleep(0.05 if trainer.step_number < step + 40 else 2)
def write_result(model, *words):
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode() + tensor.contiguous().numpy().tobytes())
    with open(f"{sys.argv[1]}/result-{worker}", "w") as file:
        print(digest.hexdigest(), *words, file=file)
"""

# Moves its parameters to other memory after every step, as averages of parameters do.
REBOUND = HEAD + """
model = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.Tanh(), nn.Linear(12, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
trainer = rubato.Trainer(model, optimizer, data, batch=24, epochs=25, deterministic=True)
for x, y in trainer:
    if trainer.step(nn.functional.mse_loss(model(x), y)):
        for parameter in model.parameters():
            parameter.data = parameter.data.clamp(-0.4, 0.4)
        model[1].running_mean = model[1].running_mean * 0.9
    if "grows" in sys.argv:
        grown(trainer, 25, 2)
write_result(model)
"""

EPOCHS = HEAD + """
model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
trainer = rubato.Trainer(model, optimizer, data, batch=10, epochs=6, deterministic=True,
                         schedulers=schedule, schedule="epoch")
for x, y in trainer:
    trainer.step(nn.functional.mse_loss(model(x), y))
    time.sleep(0.002)
write_result(model, optimizer.param_groups[0]["lr"], trainer.step_number)
"""

DIFFERING = HEAD + """
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
trainer = rubato.Trainer(model, optimizer, data, batch=24, epochs=10)
for x, y in trainer:
    if trainer.step(nn.functional.mse_loss(model(x), y)) and trainer.step_number == 5:
        with torch.no_grad():
            model.bias += worker
    if "grows" in sys.argv:
        grown(trainer, 8, 3)
"""

BUFFERS = HEAD + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 1)
        self.register_buffer("queue", torch.zeros(8))
        self.register_buffer("temperature", torch.ones(()))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int32))
        self.register_buffer("mask", None)
        self.forwards = 0
    def forward(self, x):
        if self.training:
            self.forwards += 1
            KIND
        return self.body(x)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
trainer = rubato.Trainer(model, optimizer, data, batch=BATCH, epochs=2)
for x, y in trainer:
    trainer.step(nn.functional.mse_loss(model(x), y))
write_result(model, model.calls.item(), f"{model.temperature.item():.6f}", model.mask is not None)
"""
ALIKE = """
            self.calls += 1
            self.temperature = self.temperature * 0.97
            if self.mask is None:
                self.mask = torch.ones(3, dtype=torch.bool)
"""

HEADS = HEAD + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 8)
        self.heads = nn.ModuleList([nn.Linear(8, 1), nn.Linear(8, 1)])
    def forward(self, x, head):
        return self.heads[head](self.body(x).tanh())
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
if "plain" in sys.argv:
    from rubato import _core
    order = _core.SampleOrder(96, 1, True)
    for step in range(40):
        epoch, begin = divmod(step * 24, 96)
        x, y = data[order.samples(epoch, begin, begin + 24)]
        optimizer.zero_grad(set_to_none=True)
        nn.functional.mse_loss(model(x, step % 2), y).backward()
        optimizer.step()
else:
    trainer = rubato.Trainer(model, optimizer, data, batch=24, epochs=10)
    for x, y in trainer:
        trainer.step(nn.functional.mse_loss(model(x, trainer.step_number % 2), y))
torch.save(model.state_dict(), f"{sys.argv[1]}/{'plain' if 'plain' in sys.argv else worker}.pt")
"""


class StateCase(scene.ScriptCase):
    def results(self):
        found = [path.read_text(encoding="utf-8") for path in self.folder.glob("result-*")]
        for path in self.folder.glob("result-*"):
            path.unlink()
        return found

    def trained(self, text, *options, flags, steps):
        report, _ = self.train(self.write(text), self.folder, *options, flags=flags)
        self.assertEqual((report["outcome"], report["steps"]), ("finished", steps))
        self.assertTrue(report["hashes_agree"])
        return report

    def refused(self, text, *options, flags):
        report, _ = self.train(self.write(text), self.folder, *options, flags=flags,
                               succeeds=False)
        self.assertEqual((report["outcome"], report["exit_code"]), ("refused", 65))
        return report["reason"]


class ReboundTest(StateCase):
    def test_a_newcomer_gets_the_values_that_parameters_have(self):
        undisturbed = self.trained(REBOUND, flags=["--workers", "1"], steps=100)
        expected, = self.results()

        report = self.trained(REBOUND, "grows", steps=100,
                              flags=["--workers", "1", "--resize", "at step 25: 2"])

        self.assertEqual(len(report["generations"][-1]["members"]), 2)
        self.assertEqual(report["parameter_hash"], undisturbed["parameter_hash"])
        self.assertEqual(self.results(), [expected] * 2)

    def test_a_snapshot_has_the_values_that_parameters_have(self):
        self.trained(REBOUND, flags=["--workers", "1"], steps=100)
        expected, = self.results()
        shorter = REBOUND.replace("epochs=25", "epochs=10")
        flags = ["--workers", "1", "--snapshot-steps", "15", "--directory",
                 str(self.folder / "state")]

        self.trained(shorter, flags=flags, steps=40)
        self.results()
        self.trained(REBOUND, flags=flags, steps=100)

        self.assertEqual(self.results(), [expected])


class EpochTest(StateCase):
    FLAGS = ["--workers", "2", "--snapshot-steps", "5", "--resize", "at step 5: 3", "--kill"]

    def test_snapshots_at_the_end_of_an_epoch_and_deaths_change_nothing(self):
        self.trained(EPOCHS, flags=["--workers", "1"], steps=60)
        expected, = self.results()
        self.assertEqual(expected.split()[1:], [str(0.05 * 0.5**6), "60"])

        for kills in ("worker 1 at step 8; worker 0 at step 12",
                      "worker 0 at step 10; worker 1 at step 10",
                      "worker 0 at step 20; worker 1 at step 20; worker 2 at step 20"):
            with self.subTest(kills):
                self.trained(EPOCHS, flags=[*self.FLAGS, kills], steps=60)
                found = self.results()

                self.assertGreater(len(found), 0)
                self.assertEqual(set(found), {expected})


class DifferenceTest(StateCase):
    def test_workers_that_differ_at_the_end_are_refused(self):
        reason = self.refused(DIFFERING, flags=["--workers", "2"])

        self.assertIn("the parameters of the workers differ after step 40", reason)

    def test_workers_that_differ_when_another_one_comes_are_refused(self):
        reason = self.refused(DIFFERING.replace("epochs=10", "epochs=1000"), "grows",
                              flags=["--workers", "2", "--resize", "at step 8: 3"])

        self.assertRegex(reason,
                         "the parameters of the workers differ after step ([89]|[1-5][0-9]):")


class BufferTest(StateCase):
    def script(self, kind, batch=24):
        return BUFFERS.replace("KIND", kind.strip()).replace("BATCH", str(batch))

    def test_what_changes_alike_is_kept_as_one_worker_has_it(self):
        # Four workers, two samples: two of the workers never run forward.
        for batch, steps in ((24, 8), (2, 96)):
            for workers in ("1", "4"):
                with self.subTest(batch=batch, workers=workers):
                    self.trained(self.script(ALIKE, batch), flags=["--workers", workers],
                                 steps=steps)
                    found = {line.split(" ", 1)[1] for line in self.results()}

                    temperature = torch.ones(())
                    for _ in range(steps):
                        temperature = temperature * 0.97
                    self.assertEqual(found, {f"{steps} {temperature.item():.6f} True\n"})

    def test_what_follows_the_samples_is_refused_at_once(self):
        queue = "self.queue = torch.cat([x[:4, 0].detach(), self.queue])[:8]"
        reason = self.refused(self.script(queue), flags=["--workers", "1"])

        self.assertIn("queue changed in a step and is not the same on all workers", reason)
        self.assertIn("normalisation", reason)

    def test_what_follows_the_samples_later_is_refused_then(self):
        late = "if self.forwards > 5: self.queue.data[0] = x[0, 0].detach()"
        reason = self.refused(self.script(late.replace("queue.data", "queue")),
                              flags=["--workers", "2"])

        self.assertIn("queue changed in a step", reason)


class UnusedParameterTest(StateCase):
    def test_optimizers_do_not_move_what_had_no_gradient(self):
        script = self.write(HEADS)
        done = self.run_python(script, self.folder, "plain")
        self.assertEqual(done.returncode, 0, done.stderr)
        plain = torch.load(self.folder / "plain.pt")
        for workers in (1, 2):
            with self.subTest(workers=workers):
                self.trained(HEADS, flags=["--workers", str(workers), "--seed", "1"], steps=40)
                for worker in range(1, workers + 1):
                    ours = torch.load(self.folder / f"{worker}.pt")
                    for name, expected in plain.items():
                        torch.testing.assert_close(ours[name], expected, rtol=1e-4, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
