"""Parts that do not fit a worker's memory are computed in pieces, with the same result."""

import json
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

import memory_cases
import scene
import torch
from test_split import distance

from rubato.split import memory_limits
from rubato.split.group import Group

CASES_FILE = Path(memory_cases.__file__)
TOLERANCE = 1e-9
ROOM = 44 << 20  # Less than a batch takes, more than an eighth of it; of so many workers together.
DIVIDED = {"plain": "Plain", "loss_inside": "LossInside", "evaluation": "Evaluation",
           "gradients_of_inputs": "GradientsOfInputs"}


class MemoryCase(scene.ScriptCase):
    def plain(self, *names, **environment):
        path = self.folder / "plain.pt"
        done = self.run_python(CASES_FILE, path, *names, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return torch.load(path)

    def run_split(self, *names, plan="0:1", file=CASES_FILE, **environment):
        path, report = self.folder / "split.pt", self.folder / "report.json"
        done = subprocess.run(
            [sys.executable, "-B", "-m", "rubato.split", str(file), str(path), *names],
            env={**scene.ENVIRONMENT, "OMP_NUM_THREADS": "1", "RUBATO_SPLIT_PLAN": plan,
                 "RUBATO_SPLIT_ALWAYS": "1", "RUBATO_SPLIT_REPORT": str(report),
                 "PYTHONPATH": os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]),
                                                str(CASES_FILE.parent)]), **environment},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=250, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        found = json.loads(report.read_text(encoding="utf-8"))
        found["words"] = done.stderr
        found["by_name"] = {root["name"]: root for root in found["roots"]}
        return torch.load(path), found

    def pieces(self, report, name):
        return report["by_name"][name]["memory"].get("pieces", 1)


class PiecesTest(MemoryCase):
    def test_one_and_two_workers_agree_with_plain_python(self):
        names = [*DIVIDED, "normalised", "changed_in_between"]
        plain = self.plain(*names)
        for workers in (1, 2):
            ours, report = self.run_split(*names, plan=f"0:{workers}",
                                          ROOM=str(ROOM // workers))

            for name in names:
                with self.subTest(name, workers=workers):
                    self.assertLess(distance(ours[name], plain[name]), TOLERANCE)
            for name, root in DIVIDED.items():
                with self.subTest(name, workers=workers):
                    self.assertGreater(self.pieces(report, root), 1)
                    self.assertEqual(report["by_name"][root]["memory"]["workers"], workers)
                    self.assertGreaterEqual(report["by_name"][root]["split"], 3)
            self.assertEqual(plain["changed_in_between"]["refused"].item(), 1.0)
            self.assertGreater(self.pieces(report, "ChangedInBetween"), 1)
            # Its gradients need all rows at once: that is said, once, and nothing is divided.
            self.assertEqual(self.pieces(report, "Normalised"), 1)
            self.assertEqual(report["words"].count("batch normalisation in training needs all"), 1)
            self.assertGreater(report["memory"]["worker_bytes"], 0)
            self.assertGreater(report["memory"]["limit_bytes"], 0)

    def test_more_room_means_fewer_pieces_and_much_room_none(self):
        found = [self.pieces(self.run_split("plain", ROOM=str(room))[1], "Plain")
                 for room in (ROOM // 2, ROOM, 32 * ROOM)]

        self.assertGreater(found[0], found[1])
        self.assertGreater(found[1], found[2])
        self.assertEqual(found[2], 1)

    def test_a_wrong_gradient_would_be_seen(self):
        ours, report = self.run_split("plain", ROOM=str(ROOM), RUBATO_TEST_PERTURB="1e-6")

        self.assertGreater(self.pieces(report, "Plain"), 1)
        self.assertGreater(distance(ours, self.plain("plain")), 10 * TOLERANCE)

    def test_backward_has_the_random_numbers_of_forward(self):
        for workers in (1, 2):
            with self.subTest(workers=workers):
                ours, report = self.run_split("dropout", plan=f"0:{workers}",
                                              ROOM=str(ROOM // workers))

                self.assertGreater(self.pieces(report, "Dropout"), 1)
                self.assertLess(ours["dropout"]["errors"].max().item(), TOLERANCE)

    def test_deterministic_parts_have_the_same_bits_for_every_number_of_workers(self):
        one, alone = self.run_split("plain", RUBATO_DETERMINISTIC="1", ROOM=str(ROOM))
        two, shared = self.run_split("plain", plan="0:2", RUBATO_DETERMINISTIC="1",
                                     ROOM=str(ROOM // 2))

        self.assertEqual(distance(one, two), 0.0)
        self.assertGreater(self.pieces(alone, "Plain"), 1)
        self.assertGreater(self.pieces(shared, "Plain"), 1)


class LimitsTest(MemoryCase):
    """Limits that the system enforces."""

    def assert_trains_where_plain_python_dies(self, limit, plan):
        limited = {"ROOM": str(ROOM // int(plan[-1])), "LIMIT": limit}
        died = self.run_python(CASES_FILE, self.folder / "died.pt", "plain", **limited)
        ours, report = self.run_split("plain", plan=plan, **limited)

        self.assertNotEqual(died.returncode, 0)
        self.assertIn("can't allocate memory", died.stderr)
        self.assertLess(distance(ours, self.plain("plain")), TOLERANCE)
        self.assertGreater(self.pieces(report, "Plain"), 1)

    def test_trains_within_a_limit_of_data(self):
        for plan in ("0:1", "0:2"):
            with self.subTest(plan):
                self.assert_trains_where_plain_python_dies("RLIMIT_DATA", plan)

    def test_trains_within_a_limit_of_address_space(self):
        self.assert_trains_where_plain_python_dies("RLIMIT_AS", "0:1")

    def test_shares_nothing_if_the_address_space_has_no_room_for_that(self):
        ours, report = self.run_split("plain", plan="0:2", ROOM=str(ROOM), LIMIT="RLIMIT_AS")

        self.assertLess(distance(ours, self.plain("plain")), TOLERANCE)
        self.assertIn("no memory that replicas could share", report["words"])
        self.assertGreater(self.pieces(report, "Plain"), 1)


class FailureTest(MemoryCase):
    """Memory runs out although it was thought to suffice."""

    def test_what_runs_out_is_computed_again_in_smaller_pieces(self):
        names = {"forward_runs_out": "ForwardRunsOut", "backward_runs_out": "BackwardRunsOut"}
        plain = self.plain(*names)
        for workers in (1, 2):
            ours, report = self.run_split(*names, plan=f"0:{workers}", GREEDY="1")

            for name, root in names.items():
                with self.subTest(name, workers=workers):
                    self.assertLess(distance(ours[name], plain[name]), TOLERANCE)
                    rows = report["by_name"][root]["memory"]["piece_rows"]
                    self.assertLessEqual(rows, memory_cases.BATCH // 5)
                    self.assertEqual(report["words"].count(f"{root} ran out of memory"), 1)
            self.assertEqual(report["replica_deaths"], 0)

    def test_a_replica_that_the_kernel_ended_for_memory_gets_smaller_pieces(self):
        script = self.write(f"""
            import runpy, sys
            import rubato.split.group as group
            count = 0
            def kills():
                global count
                count += 1
                return count
            group.oom_kills = kills
            sys.argv[0] = {str(CASES_FILE)!r}
            runpy.run_path({str(CASES_FILE)!r}, run_name="__main__")
        """)
        ours, report = self.run_split("plain", plan="0:2", file=script, RUBATO_SPLIT_KILL="1:F")

        self.assertEqual(report["replica_deaths"], 1)
        self.assertGreater(self.pieces(report, "Plain"), 1)
        self.assertLess(distance(ours, self.plain("plain")), TOLERANCE)


class LookingTest(unittest.TestCase):
    """What is read of the system."""

    def setUp(self):
        case = scene.ScriptCase()
        case.setUp()
        self.addCleanup(case.doCleanups)
        self.folder = case.folder
        (self.folder / "memory").mkdir()

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="ascii")

    def groups(self, *folders):
        return mock.patch.object(memory_limits, "cgroup_folders", lambda: iter(folders))

    def test_the_limit_of_a_control_group_is_without_what_others_use(self):
        own = memory_limits.usage().resident
        self.write("memory.max", str(8 << 30))
        self.write("memory.current", str(own + (3 << 30)))
        self.write("memory.stat", f"anon 1\nactive_file {1 << 30}\ninactive_file 0\n")
        with self.groups((str(self.folder), True)):
            self.assertAlmostEqual(memory_limits.cgroup_limit(), 6 << 30, delta=64 << 20)

    def test_a_control_group_without_a_limit_is_none(self):
        self.write("memory.max", "max\n")
        self.write("memory/memory.limit_in_bytes", "9223372036854771712\n")
        with self.groups((str(self.folder), True), (str(self.folder / "memory"), False)):
            self.assertIsNone(memory_limits.cgroup_limit())

    def test_kills_are_counted_in_both_versions(self):
        self.write("memory.events", "low 0\noom 4\noom_kill 3\n")
        self.write("memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
        with self.groups((str(self.folder), True)):
            self.assertEqual(memory_limits.oom_kills(), 3)
        with self.groups((str(self.folder / "memory"), False)):
            self.assertEqual(memory_limits.oom_kills(), 2)

    def test_a_replica_ran_out_of_memory_if_it_was_killed_and_the_kernel_says_so(self):
        group = Group(None)
        group.oom_kills = 3
        for killer, kills, expected in ((signal.SIGKILL, 4, True), (signal.SIGKILL, 3, False),
                                        (signal.SIGSEGV, 4, False)):
            group.replicas = [mock.Mock(is_alive=lambda: False, signal=killer)]
            with mock.patch("rubato.split.group.oom_kills", lambda kills=kills: kills):
                self.assertEqual(group.has_run_out_of_memory(), expected)

    def test_the_tightest_limit_counts_and_shared_ones_are_shared(self):
        limits = memory_limits.MemoryLimits()
        used = memory_limits.usage().resident
        limits.found = [memory_limits.Limit(used + (900 << 20), "resident", False, "slot"),
                        memory_limits.Limit(2 * used + (1000 << 20), "resident", True, "group")]

        alone, of_two = limits.tightest(1), limits.tightest(2)

        self.assertEqual((alone[1].source, of_two[1].source), ("slot", "group"))
        self.assertAlmostEqual(of_two[0], (500 << 20) + memory_limits.free_in_heap(),
                               delta=32 << 20)

    def test_words_that_mean_want_of_memory(self):
        self.assertTrue(memory_limits.is_out_of_memory(MemoryError()))
        self.assertTrue(memory_limits.is_out_of_memory(
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried")))
        self.assertFalse(memory_limits.is_out_of_memory(RuntimeError("size mismatch")))
        self.assertFalse(memory_limits.is_out_of_memory(KeyError("out of memory")))


if __name__ == "__main__":
    unittest.main()
