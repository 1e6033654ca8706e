"""Tests of the mapping and of the runner, with a program that stands in for rubato."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "harness")]

import comparison  # noqa: E402
import mapping  # noqa: E402
import models  # noqa: E402
import run  # noqa: E402
from bad_config import BadConfig  # noqa: E402
from expectation import load_expected  # noqa: E402

# Knows some policies, and gives each a mean completion time by its name.
OBEDIENT = """
import json, sys
words = sys.argv[1:]
if words[0] == "policy":
    names = ["afs-l", "afs-p", "max-min", "srtf", "tiresias"]
    print(json.dumps({"policies": [{"name": name} for name in names]}))
else:
    policy = words[words.index("--policy") + 1].partition(":")[0]
    jct = JCT[policy]
    row = {"policy": policy, "deadline_met_ratio": 0, "jct_avg_seconds": jct * 60}
    row |= {"jct_p99_seconds": 60, "makespan_seconds": 3600}
    print(json.dumps({"results": [row]}))
"""
AS_REFERENCE = {"tiresias": 1436, "srtf": 779, "max-min": 625, "afs-l": 533, "afs-p": 553}


class Scratch(unittest.TestCase):
    """A folder of its own for each test."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.models = models.load_models(HERE / "models.csv")

    def program(self, jct: dict[str, float]) -> Path:
        """Something executable that obeys."""
        path = self.folder / "rubato"
        text = OBEDIENT.replace("JCT", repr(jct))
        path.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
        path.chmod(0o755)
        return path

    def trace(self, name: str, widths: list[int]) -> None:
        """An ElasticFlow trace of jobs that take 1000 s."""
        rows = [f"j{i},{i * 10},1,bert,0,64,{gpus},1000" for i, gpus in enumerate(widths)]
        head = "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration"
        (self.folder / name).write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")

    def drawn(self, requests: list[mapping.Request], seed: int) -> list[dict[str, str]]:
        """The jobs that a seed makes of the requests."""
        path = self.folder / "drawn.csv"
        mapping.write_trace(requests, self.models, seed, path)
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


class ModelsTest(Scratch):
    def test_there_are_nine_with_the_widths_of_the_source(self) -> None:
        self.assertEqual(
            [model.gpus_max for model in self.models], [8, 20, 52, 28, 20, 44, 20, 4, 28]
        )

    def test_time_is_linear_between_counts(self) -> None:
        vgg = self.models[0]

        self.assertEqual(vgg.step_seconds(4), 0.8687)
        self.assertAlmostEqual(vgg.step_seconds(6), (0.8687 + 0.4567) / 2)
        with self.assertRaises(ValueError):
            vgg.step_seconds(9)

    def test_speeds_have_a_row_for_every_count(self) -> None:
        models.write_speeds(self.models, self.folder / "speeds.csv")

        with (self.folder / "speeds.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), sum(model.gpus_max for model in self.models))
        self.assertAlmostEqual(float(rows[7]["iters_per_s"]), 1 / 0.4567, places=6)

    def test_a_wrong_file_is_named(self) -> None:
        for text in ("model,batch,gpus,step_ms\n", "model,batch,gpus,step_ms\na,1,2,3\n", "x\n1\n"):
            path = self.folder / "m.csv"
            path.write_text(text, encoding="utf-8")
            with self.subTest(text), self.assertRaisesRegex(BadConfig, "m.csv"):
                models.load_models(path)


class MappingTest(Scratch):
    def test_a_draw_repeats_and_differs_between_seeds(self) -> None:
        requests = mapping.generated_requests(0)

        self.assertEqual(self.drawn(requests, 1), self.drawn(requests, 1))
        self.assertNotEqual(self.drawn(requests, 1), self.drawn(requests, 2))

    def test_only_models_that_are_wide_enough_are_drawn(self) -> None:
        requests = [mapping.Request(str(i), i, 32, 500) for i in range(300)]

        names = {row["model_name"] for row in self.drawn(requests, 0)}

        self.assertEqual(names, {"inception-v4", "transformer"})

    def test_all_models_are_drawn_alike(self) -> None:
        requests = [mapping.Request(str(i), i, 1, 500) for i in range(9000)]

        names = [row["model_name"] for row in self.drawn(requests, 0)]

        for model in self.models:
            self.assertAlmostEqual(names.count(model.name), 1000, delta=120)

    def test_work_takes_the_service_time_on_the_requested_count(self) -> None:
        by_name = {model.name: model for model in self.models}
        for row in self.drawn(mapping.generated_requests(3), 3):
            step = by_name[row["model_name"]].step_seconds(int(row["num_gpu"]))
            took = int(row["num_iteration"]) * step
            self.assertLessEqual(abs(took - float(row["duration"])), step)

    def test_jobs_nobody_is_wide_enough_for_are_left_out(self) -> None:
        self.trace("t.csv", [1, 64, 8])
        requests = mapping.read_requests(self.folder / "t.csv", 3)

        self.assertEqual([row["num_gpu"] for row in self.drawn(requests, 0)], ["1", "8"])
        self.assertEqual(len(mapping.read_requests(self.folder / "t.csv", 2)), 2)

    def test_the_generated_workload_is_that_of_the_source(self) -> None:
        requests = mapping.generated_requests(0)

        widths = [request.gpus for request in requests]
        self.assertEqual({gpus: widths.count(gpus) for gpus in set(widths)}, mapping.GENERATED)
        self.assertTrue(all(120 <= request.service <= 7200 for request in requests))
        self.assertAlmostEqual(requests[-1].arrival / len(requests), 30, delta=6)


class CommandTest(Scratch):
    def main(self, jct: dict[str, float]) -> tuple[int, str]:
        """Exit code and everything printed by the whole command."""
        words = ["--binary", str(self.program(jct)), "--data", str(self.folder)]
        words += ["--output", str(self.folder), "--seeds", "1"]
        words += ["--run", "cluster06@96", "--run", "cluster01@64"]
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = run.main(words)
        return code, out.getvalue()

    def test_every_shipped_file_can_be_read(self) -> None:
        names = {one.name for one in comparison.load_runs(HERE / "runs.toml")}
        known = comparison.load_reference(HERE / "reference.csv")
        rows = load_expected(HERE / "expected.csv")

        self.assertTrue(names.issuperset(one.run for one in rows))
        self.assertTrue(names.issuperset(key[0] for key in known))
        self.assertTrue(set(comparison.POLICIES).issuperset(one.policy for one in rows))
        for one in rows:
            if (one.run, one.policy) in known and one.metric == "factor":
                factor = known[one.run, one.policy].jct / known[one.run, "afs-l"].jct
                self.assertAlmostEqual(one.value, factor, places=3)
                self.assertAlmostEqual(one.tolerance, factor / 5, places=3)

    def test_figures_as_in_the_reference_pass_and_a_missing_trace_is_skipped(self) -> None:
        self.trace("cluster06.csv", [1, 2])

        code, text = self.main(AS_REFERENCE)

        self.assertEqual(code, 0, text)
        self.assertIn("SKIPPED cluster01@64: no cluster01.csv", text)
        self.assertIn("SKIPPED optimus", text)
        document = json.loads((self.folder / "afs.json").read_text(encoding="utf-8"))
        self.assertEqual(len(document["results"]), len(comparison.POLICIES) - 1)

    def test_a_factor_that_is_off_fails(self) -> None:
        self.trace("cluster06.csv", [1, 2])

        code, text = self.main(AS_REFERENCE | {"tiresias": 1436 * 1.21})

        self.assertEqual(code, 1, text)
        self.assertIn("bars missed: 1", text)

    def test_another_order_fails(self) -> None:
        self.trace("cluster06.csv", [1, 2])

        code, text = self.main(AS_REFERENCE | {"afs-p": 630})

        self.assertEqual(code, 1, text)
        self.assertRegex(text, r"order .* 0\.000 +MISSED")

    def test_without_data_nothing_but_the_generated_workload_can_be_run(self) -> None:
        code, text = self.main(AS_REFERENCE)

        self.assertEqual((code, "nothing could be run" in text), (2, True))


if __name__ == "__main__":
    unittest.main()
