"""Leaders that are killed: a copy goes on, and nobody can tell from what the script leaves."""

import random
import signal
import subprocess
import threading
import unittest
from pathlib import Path

import survival_scene
from rubato.split.survival import safety
from rubato.split.survival.sleeping_copy import CopySchedule

KILL, FAULT = int(signal.SIGKILL), int(signal.SIGSEGV)

# What Python programs do: a log that stays open, one that is opened each time, a history that is
# read and written again, the best model, a folder per epoch, an average of the weights in a dict,
# a scheduler that looks at the loss, an early end, and all three kinds of random numbers.
RICH = """
import json, random
import numpy
random.seed(1); numpy.random.seed(2); torch.manual_seed(3)
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Dropout(0.1),
                      nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
loader = DataLoader(TensorDataset(*problem()), batch_size=16, shuffle=True)
average = {name: value.clone() for name, value in model.state_dict().items()}
log = open("open.log", "a")
best, patience, step = float("inf"), 0, 0
json.dump([], open("history.json", "w"))
for epoch in range(8):
    total = 0.0
    for x, y in loader:
        x = x + 0.01 * random.random() + 0.01 * float(numpy.random.rand())
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for name, value in model.state_dict().items():
            if value.is_floating_point():
                average[name].mul_(0.9).add_(value, alpha=0.1)
        step += 1
        total += loss.item()
        log.write(f"{step} {loss.item()}\\n")
        print(f"step {step} loss {loss.item():.6f}")
        die(step)
    plateau.step(total)
    history = json.load(open("history.json"))
    json.dump(history + [total], open("history.json", "w"))
    with open("epochs.csv", "a") as file:
        file.write(f"{epoch},{total}\\n")
    die(f"epoch{epoch}")
    os.mkdir(f"epoch{epoch}")
    torch.save(model.state_dict(), f"epoch{epoch}/model.pt")
    if total < best - 1e-3:
        best, patience = total, 0
        torch.save(average, "best.tmp"); os.replace("best.tmp", "best.pt")
    else:
        patience += 1
    die(f"saved{epoch}")
    if patience >= 2:
        break
print("end", step, optimizer.param_groups[0]["lr"], *bits(*average.values(), *model.parameters()))
"""

WORKERS = """
import numpy, random
class Noisy(Dataset):
    def __init__(self): self.images, self.targets = problem(48)
    def __len__(self): return 48
    def __getitem__(self, index):
        noise = random.random() + numpy.random.rand() + torch.rand(()).item()
        return self.images[index] + noise, self.targets[index]
class Stream(IterableDataset):
    def __iter__(self):
        worker = torch.utils.data.get_worker_info().id
        for x, y in zip(*problem(48)):
            if worker or torch.rand(()).item() < 0.6:
                yield x + random.random(), y
torch.manual_seed(3)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for dataset, shuffles, persists in ((Noisy(), True, False), (Noisy(), True, True),
                                    (Stream(), False, False), (Stream(), False, True)):
    loader = DataLoader(dataset, batch_size=6, num_workers=2, persistent_workers=persists,
                        shuffle=shuffles)
    for epoch in range(2):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            step += 1
            print(step, len(x), x.sum().item(), loss.item())
            die(step)
print("end", *bits(*model.parameters()))
"""

SHORT = """
torch.manual_seed(3)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = problem()
def train(steps):
    for step in range(steps):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        print(step, loss.item())
        die(step)
"""


class SleepingCopyTest(survival_scene.SurvivalCase):
    def test_a_script_is_killed_at_random_steps(self):
        chance = random.Random(16)
        path = self.write(survival_scene.HEAD + RICH)
        alone = self.run_alone(path)
        places = [str(step) for step in range(5, 24)] + [f"epoch{e}" for e in range(1, 6)] + [
            f"saved{e}" for e in range(1, 6)]
        for every in (3, 5):
            deaths = {place: chance.choice((KILL, FAULT)) for place in chance.sample(places, 4)}
            with self.subTest(deaths=deaths, every=every):
                led = self.run_leader(path, deaths, every)
                self.assert_same(alone, led)
                self.assertGreaterEqual(led.stderr.count("a copy of it goes on"), 1, led.stderr)

    def test_worker_processes_of_loaders_are_started_again(self):
        self.assert_survives(WORKERS, dict.fromkeys((6, 11, 29, 38, 52, 71), KILL))

    def test_parameters_in_shared_memory_go_back_too(self):
        text = """
torch.manual_seed(3)
model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256), nn.Linear(256, 1))
model.double()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(256, 64).double(); y = x.sum(1, keepdim=True)
for step in range(24):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    print(step, f"{loss.item():.9f}")
    die(step)
print("shared", model[0].weight.is_shared(), file=sys.stderr)
"""
        led = self.assert_survives(text, {14: KILL, 18: KILL}, RUBATO_SPLIT_PLAN="0:2",
                                   RUBATO_DETERMINISTIC="1")

        self.assertIn("shared True", led.stderr)

    def test_a_leader_that_always_dies_at_one_place_is_given_up(self):
        path = self.write(survival_scene.HEAD + SHORT + """
old = die
def die(step):
    if step == 9:
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGABRT)
train(12)
""")
        led = self.run_leader(path)

        self.assertEqual(led.returncode, -signal.SIGABRT, led.stderr)
        self.assertEqual(led.stderr.count("a copy of it goes on"), 3, led.stderr)
        self.assertEqual([line.split()[0] for line in led.stdout.splitlines()],
                         [str(step) for step in range(10)])

    def test_the_end_of_a_script_is_its_own(self):
        for text, code in (("sys.exit(5)", 5), ("raise KeyError('x')", 1), ("os._exit(4)", 4),
                           ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM)):
            with self.subTest(text):
                path = self.write(
                    survival_scene.HEAD + SHORT + f"train(9)\nsys.stdout.flush()\n{text}\n")
                led = self.run_leader(path)
                self.assertEqual(led.returncode, code, led.stderr)
                self.assertNotIn("copy of it", led.stderr)
                self.assertEqual(len(led.stdout.splitlines()), 9)

    def test_says_why_there_is_no_copy(self):
        path = self.write(survival_scene.HEAD + SHORT + """
import socket
listening = socket.socket()
train(9)
""")
        led = self.run_leader(path)

        self.assertEqual(led.returncode, 0, led.stderr)
        self.assertIn("not from its last steps, because the script has a network", led.stderr)


class SafetyTest(unittest.TestCase):
    def setUp(self):
        self.natives = safety.native_threads()
        safety.allow_native_threads(self.natives)
        self.addCleanup(safety.allow_native_threads, -self.natives)

    def test_nothing_speaks_against_a_plain_process(self):
        self.assertIsNone(safety.reason_against_copy())

    def test_a_thread_of_the_script_is_in_the_way(self):
        ends = threading.Event()
        thread = threading.Thread(target=ends.wait, name="reader")
        thread.start()

        self.assertEqual(safety.reason_against_copy(), "the script runs a thread (reader)")
        ends.set()
        thread.join()

    def test_another_process_is_in_the_way_until_it_ends(self):
        other = subprocess.Popen(["sleep", "30"])
        while not Path(f"/proc/{other.pid}/comm").read_text().startswith("sleep"):
            pass

        self.assertEqual(safety.reason_against_copy(), "the script runs another process (sleep)")
        other.kill()
        other.wait()
        self.assertIsNone(safety.reason_against_copy())


class ScheduleTest(unittest.TestCase):
    def test_copies_take_a_small_share_of_the_time(self):
        now = [100.0]
        schedule = CopySchedule(clock=lambda: now[0])
        spent, copies = 0.0, 0
        for step in range(20_000):
            now[0] += 0.01
            if schedule.is_due(step):
                now[0] += 0.02
                spent += 0.02
                copies += 1
                schedule.faults_before = 0
                schedule.made(0.02)
                schedule.faults_before = 0

        self.assertGreater(copies, 90)
        self.assertLess(spent / (now[0] - 100.0), 0.0105)

    def test_a_copy_that_became_worthless_is_replaced_soon(self):
        now = [100.0]
        schedule = CopySchedule(clock=lambda: now[0])
        now[0] = 200.0
        schedule.made(0.001)
        schedule.faults_before = 0

        self.assertFalse(schedule.is_due(10))
        schedule.is_forced = True
        self.assertTrue(schedule.is_due(10))


if __name__ == "__main__":
    unittest.main()
