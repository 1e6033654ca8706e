"""Scripts that start again in a new process: replayed, by their own checkpoint, or anew."""

import signal
import unittest

import survival_scene
import torch
from rubato.split.survival import object_graph
from rubato.split.survival.reads import ReadLog, ReplayDiffers
from rubato.split.survival.recorder import CallLog
from rubato.split.survival.saved_state import Baseline, SavedTensors
from test_survival_copy import RICH, WORKERS

KILL = int(signal.SIGKILL)

OWN = """
torch.manual_seed(3)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
x, y = problem()
begin = 0
if os.path.exists("own.pt"):
    saved = torch.load("own.pt")
    model.load_state_dict(saved["model"]); optimizer.load_state_dict(saved["optimizer"])
    begin = saved["step"]
    print("resumes at", begin)
for step in range(begin, 20):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    if step % 4 == 3:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "step": step + 1}, "own.pt")
    die(step)
from rubato.split.controller import CONTROLLER
print("steps", CONTROLLER.steps.count, *bits(*model.parameters()), file=sys.stderr)
"""

# Nothing is seeded; a whole batch by hand, dropout, two models, two optimizers, one with a closure.
UNSEEDED = """
import random
import numpy
body = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.2))
head = nn.Linear(8, 1)
x, y = problem()
x = x + random.random() + float(numpy.random.rand())
first = torch.optim.Adam(body.parameters(), lr=0.01)
second = torch.optim.LBFGS(head.parameters(), lr=0.1, max_iter=3)
running = torch.zeros(())
def features(rows):
    return body(x[rows])
for step in range(16):
    rows = torch.randperm(64)[:32]
    loss = (head(features(rows)) - y[rows]).pow(2).mean()
    first.zero_grad(); loss.backward(); first.step()
    with torch.no_grad():
        fixed = features(rows)
    def closure():
        second.zero_grad()
        value = (head(fixed) - y[rows]).pow(2).mean()
        value.backward()
        return value
    second.step(closure)
    running = 0.9 * running + 0.1 * loss.detach()
    OTHER
    print(step, f"{running:.6f}", bool(loss > running), loss.tolist())
    die(step)
print("end", *bits(*body.parameters(), *head.parameters(), running))
"""


# The model is called inside of the optimizer's step, which is where snapshots are taken then.
CLOSURE = """
torch.manual_seed(3)
model = nn.Linear(6, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = problem()
for step in range(16):
    def closure():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss
    print(step, f"{optimizer.step(closure).item():.9f}")
    die(step)
print("end", *bits(*model.parameters()))
"""

WARNS = """
import warnings
warnings.filterwarnings("always", ".*always")
class Warns(nn.Linear):
    def forward(self, x):
        warnings.warn("warns once")
        if not self.training:
            warnings.warn("warns always")
        return super().forward(x)
torch.manual_seed(3)
model = Warns(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = problem()
for step in range(16):
    model.train(step not in (2, 14))
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    die(step)
"""

# What it remembers is a plain attribute, below a container of torch's.
FIRST_BATCH = """
class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(6))
        self.is_ready = False
    def forward(self, x):
        if not self.is_ready:
            self.shift.data = -x.mean(0)
            self.is_ready = True
        return x + self.shift
torch.manual_seed(3)
model = nn.Sequential(Shift(), nn.Linear(6, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = problem()
for step in range(16):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    die(step)
print("end", *bits(*model.parameters()))
"""


# Dropout, rows fetched ahead, clipped gradients, an average of the weights.
SHARED = """
class Rows(Dataset):
    def __init__(self): self.x, self.y = problem(256, 64)
    def __len__(self): return 256
    def __getitem__(self, index): return self.x[index].sin(), self.y[index]
torch.manual_seed(3)
model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Dropout(0.1), nn.Linear(256, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(Rows(), batch_size=64, shuffle=True)
step, average = 0, {}
for epoch in range(5):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad(); loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        for name, p in model.named_parameters():
            average[name] = 0.9 * average.get(name, 0.0) + 0.1 * p.detach()
        step += 1
        print(step, loss.item())
        die(step)
print("end", *bits(*model.parameters(), *average.values()))
from rubato.split.controller import CONTROLLER
print("shared calls:", CONTROLLER.calls, file=sys.stderr)
"""


# A clock, a generator in forward, a sampler that draws while a model draws too, a file of the job's
# that is only looked at.
RESTLESS = """
import time
class Endless(torch.utils.data.Sampler):
    def __init__(self): pass
    def __iter__(self):
        while True:
            yield from torch.randperm(64).tolist()
class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.drop = nn.Linear(6, 1), nn.Dropout(0.3)
        self.generator = torch.Generator().manual_seed(4)
    def forward(self, x):
        return self.linear(self.drop(x) + 0.1 * torch.randn(x.shape, generator=self.generator))
torch.manual_seed(3)
if os.path.exists("looked.pt"):
    torch.load("looked.pt")
model = Noisy()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
began, times = time.time(), []
loader = DataLoader(TensorDataset(*problem()), batch_size=24, sampler=Endless())
for step, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    times.append(time.perf_counter() - began)
    print(step, loss.item(), x.double().sum().item())
    torch.save(torch.tensor(step), "looked.pt")
    die(step)
    if step == 15:
        break
print("end", *bits(*model.parameters()))
"""


# A pipe between the script and somebody else, here itself.
PIPE = """
os.mkfifo("pipe")
reads = os.open("pipe", os.O_RDWR)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = problem()
for step in range(4):
    optimizer.zero_grad(); nn.functional.mse_loss(model(x), y).backward(); optimizer.step()
    writes = os.open("pipe", os.O_WRONLY)
    os.write(writes, b"r")
    os.close(writes)
    print(os.read(reads, 1))
os.unlink("pipe")
"""


class StartingAgainTest(survival_scene.SurvivalCase):
    def test_a_killed_script_is_replayed_to_its_snapshot(self):
        path = self.write(survival_scene.HEAD + RICH)
        alone = self.run_alone(path)
        job = self.run_job(path, {"13": KILL, "saved4": KILL})

        self.assert_same(alone, job)
        self.assertIn("goes on from step 10", job.stderr)

    def test_worker_processes_of_loaders_are_replayed_too(self):
        path = self.write(survival_scene.HEAD + WORKERS)
        alone = self.run_alone(path)
        job = self.run_job(path, {"38": KILL})

        self.assert_same(alone, job)
        self.assertIn("goes on from step 35", job.stderr)

    def test_a_script_goes_on_from_its_own_checkpoint(self):
        path = self.write(survival_scene.HEAD + OWN)
        undisturbed = self.run_job(path)
        job = self.run_job(path, {"10": KILL})

        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertEqual(job.stdout, "resumes at 8\n")
        self.assertEqual(job.stderr.splitlines()[-1], undisturbed.stderr.splitlines()[-1])
        self.assertIn("steps 20", job.stderr)

    def test_a_broken_checkpoint_is_not_used(self):
        path = self.write(survival_scene.HEAD + OWN.replace("    die(step)\n", """
    if step == 10 and os.environ["START"] == "0":
        open("own.pt", "wb").write(b"half a file")
    die(step)
"""))
        job = self.run_job(path, {"10": KILL})

        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertNotIn("resumes", job.stdout)
        self.assertIn("goes on from step 10", job.stderr)
        self.assertIn("steps 20", job.stderr)

    def test_clocks_generators_and_samplers_come_to_where_they_were(self):
        path = self.write(survival_scene.HEAD + RESTLESS)
        undisturbed = self.run_job(path)
        job = self.run_job(path, {"12": KILL})

        self.assert_same(undisturbed, job)
        self.assertIn("goes on from step 10", job.stderr)
        self.assertNotIn("checkpoint of its own", job.stderr)

    def test_random_numbers_of_a_job_are_the_same_in_every_start(self):
        path = self.write(survival_scene.HEAD + UNSEEDED.replace("OTHER", "pass"))
        undisturbed = self.run_job(path)
        job = self.run_job(path, {"12": KILL})

        self.assert_same(undisturbed, job)
        self.assertIn("goes on from step 10", job.stderr)

    def test_the_step_that_a_replay_ends_inside_of_is_taken(self):
        path = self.write(survival_scene.HEAD + CLOSURE)
        alone = self.run_alone(path)
        job = self.run_job(path, {"12": KILL})

        self.assert_same(alone, job)
        self.assertIn("goes on from step 10", job.stderr)

    def test_a_warning_appears_once(self):
        path = self.write(survival_scene.HEAD + WARNS)
        job = self.run_job(path, {"12": KILL})

        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertIn("goes on from step 10", job.stderr)
        self.assertEqual(job.stderr.count("UserWarning: warns once"), 1, job.stderr)
        self.assertEqual(job.stderr.count("UserWarning: warns always"), 2, job.stderr)

    def test_a_layer_that_remembers_its_first_batch_is_computed_again(self):
        path = self.write(survival_scene.HEAD + FIRST_BATCH)
        alone = self.run_alone(path)
        job = self.run_job(path, {"12": KILL})

        self.assert_same(alone, job)
        self.assertIn("has another value in", job.stderr)

    def test_a_script_that_does_something_else_computes_everything_again(self):
        path = self.write(survival_scene.HEAD + UNSEEDED.replace(
            "OTHER", "step == 3 and os.environ['START'] == '1' and loss.item()"))
        undisturbed = self.run_job(path)
        job = self.run_job(path, {"12": KILL})

        self.assert_same(undisturbed, job)
        self.assertIn("everything is computed again", job.stderr)

    def test_without_a_snapshot_files_and_output_still_appear_once(self):
        path = self.write(survival_scene.HEAD + RICH)
        alone = self.run_alone(path)
        job = self.run_job(path, {"13": KILL}, RUN_EVERY="0")

        self.assert_same(alone, job)
        self.assertIn("starts from its beginning", job.stderr)

    def test_output_appears_once_also_of_a_script_that_writes_no_file(self):
        path = self.write("print('before torch', flush=True)\n" + survival_scene.HEAD + """
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = problem()
for step in range(8):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    print("step", step)
    die(step)
""")
        alone = self.run_alone(path)
        for every, death in (("0", "3"), ("5", "7")):  # Without a snapshot, and with one.
            with self.subTest(every=every):
                job = self.run_job(path, {death: KILL}, RUN_EVERY=every)

                self.assert_same(alone, job)

    def test_a_script_with_replicas_is_replayed(self):
        path = self.write(survival_scene.HEAD + SHARED)
        shared = {"RUN_WORKERS": "2", "RUBATO_DETERMINISTIC": "1", "RUBATO_SPLIT_ALWAYS": "1"}
        undisturbed = self.run_job(path, **shared)
        job = self.run_job(path, {"13": KILL}, **shared)

        self.assert_same(undisturbed, job)
        self.assertIn("goes on from step 10", job.stderr)
        self.assertRegex(job.stderr, "shared calls: [1-9]")

    def test_a_start_that_does_less_than_an_earlier_one_fails(self):
        path = self.write(survival_scene.HEAD + UNSEEDED.replace(
            "OTHER", "if step == 3 and os.environ['START'] == '1': break"))
        job = self.run_job(path, {"12": KILL})

        self.assertEqual(job.returncode, 65, job.stderr)
        self.assertIn("ended after 4 steps, but an earlier start", job.stderr)

    def test_what_a_script_writes_to_a_pipe_is_left_to_its_reader(self):
        path = self.write(survival_scene.HEAD + PIPE)

        self.assert_same(self.run_alone(path), self.run_job(path))

    def test_a_suspended_script_waits_with_all_it_has(self):
        path = self.write(survival_scene.HEAD + RICH)
        alone = self.run_alone(path)
        job = self.run_job(path, RUN_SUSPEND="6", RUN_EVERY="0")
        moved = self.run_job(path, RUN_SUSPEND="6", RUN_EVERY="0", RUN_MOVES="0")

        self.assert_same(alone, job)
        self.assertIn("suspended at 6", job.stderr)
        self.assert_same(alone, moved)
        self.assertIn("goes on from step 6", moved.stderr)


class LogTest(unittest.TestCase):
    def test_values_come_back_in_order(self):
        log = ReadLog()
        values = [1.5, 3, True, False, -(1 << 70), "text", [1, 2.0], float("inf")]
        for number, value in enumerate(values):
            log.add(("item", (number % 3,), "float32"), value)
        again = ReadLog.__new__(ReadLog)
        again.__setstate__(log.__getstate__())

        found = [again.next(("item", (number % 3,), "float32")) for number in range(len(values))]

        self.assertEqual(found, values)
        self.assertEqual([type(value) for value in found], [type(value) for value in values])
        self.assertTrue(again.is_at_end)
        with self.assertRaises(ReplayDiffers):
            again.next(("item", (), "float32"))

    def test_another_kind_of_read_is_seen(self):
        log = ReadLog()
        log.add(("item", (), "float32"), 1.5)
        log.at = log.read_again = 0

        for kind in (("__bool__", (), "float32"), ("item", (1,), "float32"),
                     ("item", (), "int64")):
            with self.assertRaises(ReplayDiffers):
                log.next(kind)
        self.assertEqual(log.next(("item", (), "float32")), 1.5)

    def test_calls_come_back_in_order(self):
        log = CallLog()
        kinds = [("a",)] * 5 + [("b",)] + [("a",)] * 2
        for kind in kinds:
            log.add(kind)
        again = CallLog.__new__(CallLog)
        again.__setstate__(log.__getstate__())

        self.assertEqual([again.next() for _ in kinds], kinds)
        self.assertTrue(again.is_at_end)


class Holder:
    """An object of a script."""


class SavedTensorsTest(unittest.TestCase):
    def graph(self, **values):
        graph = object_graph.ObjectGraph.__new__(object_graph.ObjectGraph)
        graph.tensors, graph.values, graph.seen, graph.kept = [], {}, set(), []
        graph.modules, graph.names = [], {__name__}
        graph.walk("here", values, True)
        return graph

    def test_finds_tensors_wherever_they_are(self):
        held = Holder()
        held.tensor = torch.ones(2)
        inner = torch.ones(3)
        leaf = torch.ones(1, requires_grad=True)
        leaf.grad = torch.zeros(1)
        generator = (t for t in [torch.ones(4)])
        graph = self.graph(a=[held, {"k": torch.ones(5)}], b=lambda: inner, c=leaf, d=generator,
                           n=7)

        names = {name: tuple(tensor.shape) for name, tensor in graph.tensors}

        self.assertEqual(sorted(names.values()), [(1,), (1,), (2,), (3,), (4,), (5,)])
        self.assertEqual(names["here.a.0.tensor"], (2,))
        self.assertEqual(names["here.c.grad"], (1,))
        self.assertEqual(graph.values, {"here.n": 7})

    def save(self, graph, baseline=None):
        saved = SavedTensors(graph, baseline)
        memory = torch.zeros(saved.bytes, dtype=torch.uint8)
        saved.write_to(memory)
        return saved, memory

    def test_values_come_back_into_the_same_tensors(self):
        whole = torch.arange(12.0).view(3, 4)
        single = torch.arange(6.0).view(2, 3).t()
        saved, memory = self.save(self.graph(whole=whole, row=whole[1], single=single))
        expected = (whole.clone(), single.clone())
        whole.zero_()
        other = torch.zeros(3, 2)  # Another layout does not matter for a tensor by itself.

        saved.restore(self.graph(whole=whole, row=whole[1], single=other), memory)

        self.assertTrue(torch.equal(whole, expected[0]))
        self.assertTrue(torch.equal(other, expected[1]))

    def test_another_shape_name_or_sharing_is_seen(self):
        whole = torch.arange(12.0).view(3, 4)
        saved, memory = self.save(self.graph(whole=whole, row=whole[1]))

        for values in ({"whole": whole, "row": torch.zeros(4)}, {"whole": whole, "row": whole[2]},
                       {"whole": whole, "line": whole[1]}, {"whole": whole},
                       {"whole": whole.view(4, 3), "row": whole[1]}):
            with self.assertRaises(ReplayDiffers):
                saved.restore(self.graph(**values), memory)

    def test_what_has_not_changed_is_not_saved_but_compared(self):
        data = torch.arange(1 << 16)
        baseline = Baseline(self.graph(data=data))
        saved, memory = self.save(self.graph(data=data), baseline)

        self.assertEqual(saved.bytes, 0)
        saved.restore(self.graph(data=data.clone()), memory)
        with self.assertRaises(ReplayDiffers):
            saved.restore(self.graph(data=data + 1), memory)


if __name__ == "__main__":
    unittest.main()
