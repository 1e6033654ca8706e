"""What the tests of survival share: scripts that kill themselves, and runs of them as leaders."""

import subprocess
import sys
from pathlib import Path

import scene

# `die(place)` ends the process there, the first time it comes by, if the test asks for it. The mark
# is made by mknod, which Rubato does not see and so does not undo.
HEAD = """
import os, signal, sys, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
torch.set_num_threads(1)
DEATHS = dict(word.rpartition("=")[::2] for word in os.environ.get("DEATHS", "").split())
def die(place):
    if str(place) in DEATHS:
        mark = f"{os.environ['MARKS']}/{str(place).replace('/', '_')}"
        try:
            os.mknod(mark)
        except FileExistsError:
            return
        sys.stdout.flush()
        os.kill(os.getpid(), int(DEATHS[str(place)]))
def bits(*tensors):
    return [tensor.detach().double().sum().item().hex() for tensor in tensors]
def problem(samples=64, inputs=6):
    generator = torch.Generator().manual_seed(5)
    images = torch.randn(samples, inputs, generator=generator)
    return images, images.sin().sum(1, keepdim=True)
"""


class SurvivalCase(scene.ScriptCase):
    """Runs scripts alone and as leaders, each in a folder of its own."""

    def setUp(self):
        super().setUp()
        self.runs = 0

    def run_in_folder(self, path, module, environment, is_new=True):
        """The next run; or again in the folder of the last one."""
        self.runs += is_new
        folder = self.folder / f"run{self.runs}"
        marks = self.folder / f"marks{self.runs}"
        for needed in (folder, marks, self.folder / f"job{self.runs}"):
            needed.mkdir(exist_ok=True)
        command = [sys.executable, "-B", *module, str(path)]
        done = subprocess.run(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=280, check=False, stdin=subprocess.DEVNULL,
            env={**scene.ENVIRONMENT, "OMP_NUM_THREADS": "1", "MARKS": str(marks), **environment},
        )
        done.files = {str(file.relative_to(folder)): file.read_bytes()
                      for file in sorted(folder.rglob("*")) if file.is_file()}
        return done

    def run_alone(self, path, **environment):
        return self.run_in_folder(path, [], environment)

    def run_leader(self, path, deaths=None, every=4, **environment):
        """`deaths` are places with the signals that end the leader there."""
        text = " ".join(f"{place}={number}" for place, number in (deaths or {}).items())
        return self.run_in_folder(path, ["-m", "rubato.split"], {
            "RUBATO_COPY_EVERY": str(every), "DEATHS": text, **environment})

    def run_job(self, path, deaths=None, starts_max=4, **environment):
        """Starts the script again while it is killed. Copies of it are only made when it starts, so
        that a killed script starts again in a new process."""
        text = " ".join(f"{place}={number}" for place, number in (deaths or {}).items())
        runner = Path(__file__).with_name("survival_runner.py")
        out = error = ""
        for start in range(starts_max):
            done = self.run_in_folder(path, [str(runner)], {
                "RUBATO_COPY_EVERY": "1000000", "RUBATO_SNAPSHOT_SHARE": "100", "DEATHS": text,
                "RUN_FOLDER": str(self.folder / f"job{self.runs + (start == 0)}"),
                "RUN_EVERY": "5", "START": str(start), **environment}, is_new=start == 0)
            out, error = out + done.stdout, error + done.stderr
            if done.returncode != -9 and "was told to leave" not in done.stderr:
                break
        done.stdout, done.stderr = out, error
        return done

    def assert_same(self, alone, led):
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertEqual(led.returncode, 0, led.stderr)
        self.assertEqual(led.stdout, alone.stdout, led.stderr)
        self.assertEqual(led.files, alone.files)

    def assert_survives(self, text, deaths, **environment):
        """The script ends as it ends undisturbed, though its process is killed."""
        path = self.write(HEAD + text)
        alone = self.run_alone(path)
        led = self.run_leader(path, deaths, **environment)
        self.assert_same(alone, led)
        self.assertEqual(led.stderr.count("a copy of it goes on"), len(deaths), led.stderr)
        return led


def alive(pid):
    """Whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def environment_of(**more):
    return {**scene.ENVIRONMENT, "OMP_NUM_THREADS": "1", **more}
