"""Replicas that are sent the module: scripts on the pretended CUDA device, shared with them."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import pretend_cuda
import scene  # noqa: F401  Leaves if torch is not installed.

MISSING = pretend_cuda.missing_reason()
try:
    import cloudpickle  # noqa: F401
except ImportError:
    MISSING = MISSING or "python3-cloudpickle is not installed"
if MISSING is not None:
    print(f"skipped: {MISSING}")

# Double precision: rounding hides nothing. The class lies in another file of the script's folder.
LAYERS = """
from torch import nn

SLOPE = 0.5

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(1, width, 3, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.temperature = 1.0

    def forward(self, images):
        return nn.functional.leaky_relu(self.norm(self.conv(images)), SLOPE) * self.temperature
"""
SCRIPT = """
import sys
import threading
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from layers import Block

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(3)
torch.set_default_dtype(torch.float64)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block(4)
        self.head = nn.Linear(4 * 36, 5)

    def forward(self, images):
        return self.head(self.block(images).flatten(1))

model = Net().to(device)
images, labels = torch.randn(96, 1, 8, 8), torch.randint(0, 5, (96,))
loader = DataLoader(TensorDataset(images, labels), batch_size=24, shuffle=True)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(5):
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.block.temperature += 0.1
    # BODY
    model.eval()
    with torch.no_grad():
        accuracy = (model(images.to(device)).argmax(1).cpu() == labels).double().mean().item()
    model.train()
torch.save({name: value.cpu() for name, value in model.state_dict().items()}, sys.argv[1])
print(f"{device} {loss.item():.6f} {accuracy:.4f}")
"""
# Parameters are changed behind their versions, and the module in a way that it must be sent again,
# when a replica has died that nobody was waiting for.
CHANGED = """
    [parameter.data.clamp_(-0.2, 0.2) for parameter in model.parameters()]
    if epoch == 2:
        model.block.notes = [epoch]
        found = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "by_value_replica"],
                               text=True, capture_output=True).stdout.split()
        for pid in found[:1]:
            os.kill(int(pid), 9)
"""
HALF = """
import sys
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(3)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.cuda.amp.GradScaler(init_scale=2.0**20)
for step in range(20):
    x, y = torch.randn(24, 16).to(device), torch.randint(0, 4, (24,)).to(device)
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
torch.save({name: value.cpu() for name, value in model.state_dict().items()}, sys.argv[1])
print(f"{device} {loss.item():.3f} {scaler.get_scale()}")
"""


ALONE = {}  # What scripts gave in plain Python on the host, by their text.


@unittest.skipIf(MISSING is not None, MISSING)
class ByValueCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "layers.py").write_text(LAYERS)

    def run_script(self, text, name, shared=True, **environment):
        """Runs it; what it printed, its state, and the report if it was shared."""
        script, state = self.folder / "train.py", self.folder / f"{name}.pt"
        report = self.folder / f"{name}.json"
        script.write_text(text)
        command = [sys.executable, *(["-m", "rubato.split"] if shared else []), script, state]
        base = pretend_cuda.environment() if shared or environment.pop("PRETENDED", "") else {
            **os.environ}
        run = subprocess.run(
            [str(part) for part in command], text=True, capture_output=True, timeout=280,
            cwd=self.folder, check=False,
            env={**base, "OMP_NUM_THREADS": "1", "RUBATO_SPLIT_ALWAYS": "1",
                 "RUBATO_SPLIT_REPORT": str(report), **environment})
        self.assertEqual(run.returncode, 0, run.stderr)
        import torch

        found = json.loads(report.read_text()) if shared else {}
        return run.stdout.strip(), torch.load(state), {**found, "stderr": run.stderr}

    def alone(self, text):
        """What it printed, and its state, in plain Python without a device."""
        if text not in ALONE:
            ALONE[text] = self.run_script(text, "alone", shared=False)[:2]
        return ALONE[text]

    def assert_close(self, one, other, tolerance):
        self.assertEqual(list(one), list(other))
        for name, value in one.items():
            difference = (value.double() - other[name].double()).norm().item()
            self.assertLessEqual(difference, tolerance * max(value.double().norm().item(), 1), name)

    def roots(self, report):
        return {root["name"]: root for root in report["roots"]}


class ResultTest(ByValueCase):
    def test_a_script_on_the_device_gives_the_result_of_the_host(self):
        said, alone = self.alone(SCRIPT)

        words, shared, report = self.run_script(SCRIPT, "shared",
                                                RUBATO_SPLIT_PLAN="0:2,9:3,17:1,20:2")

        self.assertEqual(words.replace("cuda", "cpu"), said)
        self.assert_close(alone, shared, 1e-9)
        root = self.roots(report)["Net"]
        self.assertGreaterEqual(root["split"], 18, report)
        self.assertEqual(root["reasons"], [])

    def test_a_killed_replica_costs_nothing_but_time(self):
        text = "import os, subprocess\n" + SCRIPT.replace("    # BODY\n", CHANGED)
        _, alone = self.alone(text)

        _, shared, report = self.run_script(text, "shared", RUBATO_SPLIT_PLAN="0:3",
                                            RUBATO_SPLIT_KILL="5:F,11:B",
                                            RUBATO_PRETEND_CUDA_LATE="1")

        self.assert_close(alone, shared, 1e-9)
        self.assertEqual(report["replica_deaths"], 3)

    def test_mixed_precision_is_handed_along(self):
        _, alone, _ = self.run_script(HALF, "alone", shared=False, PRETENDED="1")

        words, shared, report = self.run_script(HALF, "shared", RUBATO_SPLIT_PLAN="0:2")

        self.assert_close(alone, shared, 1e-2)
        self.assertGreater(self.roots(report)["Sequential"]["split"], 10)
        self.assertTrue(words.startswith("cuda"))

    def test_a_model_on_the_host_is_shared_where_forks_could_not_compute(self):
        # In single precision, for which optimizer steps are fused.
        text = SCRIPT.replace("torch.set_default_dtype(torch.float64)", "")
        text = text.replace("Adam(model.parameters(), lr=0.01)", "SGD(model.parameters(), lr=0.05)")
        _, alone = self.alone(text)

        words, shared, report = self.run_script(
            text.replace('"cuda" if torch.cuda.is_available() else "cpu"', '"cpu"'), "shared",
            RUBATO_SPLIT_PLAN="0:2")

        self.assertTrue(words.startswith("cpu"))
        self.assert_close(alone, shared, 1e-5)
        self.assertGreater(self.roots(report)["Net"]["split"], 15)
        self.assertNotIn("GPU", report["stderr"])  # Nobody has used it for the script.


class CheckTest(ByValueCase):
    def test_another_model_of_device_may_round_otherwise(self):
        text = SCRIPT.replace("torch.set_default_dtype(torch.float64)", "")
        _, alone = self.alone(text)

        _, shared, report = self.run_script(text, "shared", RUBATO_SPLIT_PLAN="0:2",
                                            RUBATO_PRETEND_CUDA_DEVICES="AB")

        self.assertGreater(self.roots(report)["Net"]["split"], 15)
        self.assert_close(alone, shared, 2e-2)

    def test_a_replica_that_computes_something_else_is_not_used(self):
        text = SCRIPT.replace("return self.head(",
                              "return (1 if 'train.py' in sys.argv[0] else 2) * self.head(")
        _, alone = self.alone(SCRIPT)

        _, shared, report = self.run_script(text, "shared", RUBATO_SPLIT_PLAN="0:2")

        self.assert_close(alone, shared, 1e-9)
        self.assertEqual(self.roots(report)["Net"]["split"], 0)
        self.assertIn("computes something else", report["stderr"])

    def test_what_cannot_be_sent_is_told(self):
        text = SCRIPT.replace("        self.block = Block(4)\n",
                              "        self.block = Block(4)\n"
                              "        self.lock = threading.Lock()\n")

        _, _, report = self.run_script(text, "shared", RUBATO_SPLIT_PLAN="0:2")

        self.assertEqual(self.roots(report)["Net"]["split"], 0)
        self.assertIn("cannot be sent to another process", report["stderr"])


class PackTest(ByValueCase):
    def test_values_keep_what_their_tensors_share(self):
        import torch
        from rubato.split import by_value, memory
        from torch import nn

        shared = memory.Memory()
        tied = nn.Linear(3, 3)
        module = nn.ModuleDict({"one": tied, "two": nn.Linear(3, 3)})
        module["two"].weight = tied.weight
        flat = torch.arange(6.0)
        module.halves = (flat[:3], flat[3:])
        module.register_buffer("counts", torch.zeros((), dtype=torch.int64))

        copy = by_value.unpack(by_value.pack(module, shared.heap(0)), shared)

        self.assertIs(copy["one"].weight, copy["two"].weight)
        self.assertIsInstance(copy["one"].weight, nn.Parameter)
        self.assertTrue(torch.equal(copy["one"].weight, tied.weight))
        copy.halves[0].storage().fill_(7)
        self.assertEqual(copy.halves[1].tolist(), [7.0] * 3)
        self.assertEqual(flat.tolist(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
        self.assertEqual(copy.counts.dtype, torch.int64)


if __name__ == "__main__":
    unittest.main()
