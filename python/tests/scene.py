"""What the tests share: small problems, and scripts that run as workers."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

try:
    import torch
except ImportError:
    print("torch is not installed: skipped")
    sys.exit(0)

ROOT = Path(__file__).resolve().parents[2]
# A script of its own process must not see what this one was given for other jobs.
ENVIRONMENT = {name: value for name, value in os.environ.items() if "RUBATO" not in name}

torch.set_num_threads(1)


def dataset(samples=48, inputs=6):
    generator = torch.Generator().manual_seed(5)
    images = torch.randn(samples, inputs, generator=generator)
    return torch.utils.data.TensorDataset(images, images.sin().sum(1, keepdim=True))


def model(*, has_norm=False, dropout=0.0):
    torch.manual_seed(7)
    layers = [torch.nn.Linear(6, 12), torch.nn.Tanh()]
    if has_norm:
        layers.insert(1, torch.nn.BatchNorm1d(12))
    if dropout:
        layers.append(torch.nn.Dropout(dropout))
    return torch.nn.Sequential(*layers, torch.nn.Linear(12, 1))


def hash_of(module):
    """Of all bits of a module."""
    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(name.encode() + tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()


class ScriptCase(unittest.TestCase):
    """Writes scripts and runs them."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, text, name="script.py"):
        path = self.folder / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def run_python(self, path, *arguments, **environment):
        return subprocess.run(
            [sys.executable, "-B", str(path), *map(str, arguments)],
            env={**ENVIRONMENT, "OMP_NUM_THREADS": "1", **environment},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200, check=False,
        )

    def train(self, path, *arguments, flags=(), succeeds=True, **environment):
        """Runs a script with `rubato train` and returns what that says, and the script's words."""
        binary = os.environ.get("RUBATO_BINARY")
        if not binary or not Path(binary).exists():
            self.skipTest("RUBATO_BINARY does not name the program")
        command = [binary, "train", "--json", *flags, "--", sys.executable, str(path)]
        done = subprocess.run(
            [*command, *map(str, arguments)],
            env={**ENVIRONMENT, **environment},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=250, check=False,
        )
        self.assertEqual(done.returncode == 0, succeeds, done.stdout + done.stderr)
        return json.loads(done.stdout), done.stderr
