"""Scripts as jobs of the whole platform: `rubato up`, submission, changes of size, end."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest
import urllib.request
from pathlib import Path

import scene

STEPS = 400
# Steps take a while until the test has seen what it wants to see.
PACE = """
import os, time
def pace():
    if not os.path.exists(os.environ["GO"]):
        time.sleep(0.2)
"""

PLAIN = PACE + """
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
torch.manual_seed(3)
inputs = torch.randn(96, 6)
loader = DataLoader(TensorDataset(inputs, inputs.sin().sum(1, keepdim=True)), batch_size=24,
                    shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
epochs = 0
for epoch in range(100):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        pace()
    epochs += 1
print(f"trained {epochs} epochs", flush=True)
"""

TRAINER = PACE + """
import torch, rubato
torch.set_num_threads(1)
torch.manual_seed(3)
inputs = torch.randn(96, 6)
data = torch.utils.data.TensorDataset(inputs, inputs.sin().sum(1, keepdim=True))
model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
trainer = rubato.Trainer(model, optimizer, data, batch=24, epochs=100)
for x, y in trainer:
    trainer.step(torch.nn.functional.mse_loss(model(x), y))
    pace()
if trainer.is_leader:
    print(f"trained {trainer.step_number} steps", flush=True)
"""

# Its numbers, files and output must be those of an undisturbed run.
SURVIVOR = PACE + """
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
torch.manual_seed(3)
inputs = torch.randn(96, 6)
loader = DataLoader(TensorDataset(inputs, inputs.sin().sum(1, keepdim=True)), batch_size=24,
                    shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Dropout(0.1),
                            torch.nn.Linear(12, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
log = open(os.environ["LOG"], "a")
for epoch in range(100):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
        pace()
    print(f"epoch {epoch} {total:.9g}", flush=True)
    log.write(f"{epoch} {total!r}\\n"); log.flush()
print("end", sum(p.detach().double().sum().item() for p in model.parameters()).hex(), flush=True)
"""

EMULATED = ("--kind", "emulated", "--speeds", "1:10,2:19,4:35")


def descendants(pid):
    """All processes that come from this one."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(words[1])
    found, new = set(), {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found


class PlatformTest(scene.ScriptCase):
    def setUp(self):
        super().setUp()
        self.binary = os.environ.get("RUBATO_BINARY")
        if not self.binary or not Path(self.binary).exists():
            self.skipTest("RUBATO_BINARY does not name the program")
        self.go = self.folder / "go"
        self.platform = subprocess.Popen(
            [self.binary, "up", "--slots", "4", "--port", "0", "--state", self.folder / "state"],
            env=scene.ENVIRONMENT, stdout=subprocess.PIPE, text=True,
        )
        self.addCleanup(self.end)
        self.server = self.platform.stdout.readline().split()[-1]

    def end(self):
        """What a test that failed has left behind ends as well."""
        for job in self.get("/v1/jobs").get("jobs", []):
            self.rubato("cancel", job["id"])
        self.wait(lambda: all(node.get("slots_used", 0) == 0
                              for node in self.get("/v1/nodes")["nodes"]))
        self.platform.terminate()
        self.platform.wait()
        self.platform.stdout.close()

    def get(self, target):
        with urllib.request.urlopen(self.server + target, timeout=60) as reply:
            return json.load(reply)

    def rubato(self, *words):
        environment = {**scene.ENVIRONMENT, "RUBATO_SERVER": self.server}
        return subprocess.run(
            [self.binary, *map(str, words)], env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200, check=False,
        )

    def wait(self, is_so):
        """Until it is so, or a minute has passed in which it was not."""
        end = time.monotonic() + 60
        while not is_so():
            self.assertLess(time.monotonic(), end, self.get("/v1/jobs"))
            time.sleep(0.05)

    def wait_job(self, job, **fields):
        def is_so():
            status = self.get(f"/v1/jobs/{job}")
            return all(status.get(name) == value for name, value in fields.items())

        self.wait(is_so)

    def start(self, script, name):
        done = self.rubato("run", "--detach", "--name", name, "--steps", STEPS, "--speeds",
                           "1:10,2:19,4:35", "--env", f"GO={self.go}",
                           # A model so small is not worth sharing; here it is.
                           "--env", "RUBATO_SPLIT_ALWAYS=1", "--", sys.executable, script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.wait_job(1, workers=4, state="RUNNING")
        self.wait(lambda: self.get("/v1/jobs/1")["steps_done"] > 0)

    def finish(self):
        self.go.touch()
        self.wait(lambda: self.get("/v1/jobs/1")["state"] in ("SUCCEEDED", "FAILED"))
        job = self.get("/v1/jobs/1")
        self.assertEqual(job["state"], "SUCCEEDED", self.rubato("logs", 1).stdout)
        self.assertEqual(job["steps_done"], STEPS)
        self.assertEqual(job.get("restarts", 0), 0)

    def test_an_unmodified_script_shrinks_and_grows(self):
        self.start(self.write(PLAIN), "plain")
        self.rubato("run", "-d", "--steps", 40, "--workers", 2, "--deadline", "10s", *EMULATED)
        self.wait_job(1, workers=2)
        self.wait_job(2, state="SUCCEEDED")
        self.wait_job(1, workers=4)
        self.finish()
        self.assertIn("trained 100 epochs", self.rubato("logs", 1).stdout)

    def test_a_script_goes_on_when_all_its_processes_are_killed(self):
        """The conductor, the holder, the leader and its copy at once, as when a machine is lost."""
        script, log, alone = self.write(SURVIVOR), self.folder / "log", self.folder / "log-alone"
        self.go.touch()
        expected = self.run_python(script, GO=str(self.go), LOG=str(alone))
        self.go.unlink()
        done = self.rubato("run", "--detach", "--name", "survivor", "--steps", STEPS,
                           "--workers", 1, "--speeds", "1:10", "--env", f"GO={self.go}",
                           "--env", f"LOG={log}",
                           "--", sys.executable, script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.wait(lambda: self.get("/v1/jobs/1").get("steps_done", 0) >= 10)
        self.wait(lambda: any((self.folder / "state").rglob("snapshot-*-step-*")))

        for pid in descendants(self.platform.pid):
            os.kill(pid, signal.SIGKILL)
        self.wait(lambda: self.get("/v1/jobs/1").get("restarts", 0) > 0)
        self.go.touch()
        self.wait(lambda: self.get("/v1/jobs/1")["state"] in ("SUCCEEDED", "FAILED"))

        logs = self.rubato("logs", 1).stdout
        lines = [line.partition("] ")[2] for line in logs.splitlines()]
        job = self.get("/v1/jobs/1")
        self.assertEqual(job["state"], "SUCCEEDED", logs)
        self.assertEqual(job["steps_done"], STEPS)
        self.assertEqual([line for line in lines if line.startswith(("epoch ", "end "))],
                         expected.stdout.splitlines())
        self.assertEqual(log.read_text(), alone.read_text())
        self.assertIn("the script goes on from step", logs)

    def test_a_script_with_our_trainer_is_suspended_and_resumed(self):
        self.start(self.write(TRAINER), "trainer")
        self.rubato("run", "-d", "--steps", 80, "--workers", 4, "--deadline", "10s", *EMULATED)
        self.wait_job(1, state="SUSPENDED")
        self.wait_job(2, state="SUCCEEDED")
        self.wait_job(1, workers=4)
        self.finish()
        self.assertIn(f"trained {STEPS} steps", self.rubato("logs", 1).stdout)


if __name__ == "__main__":
    unittest.main()
