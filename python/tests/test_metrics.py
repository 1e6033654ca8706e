"""Metrics of scripts: rubato.log, loggers that are watched, event files, and the early end."""

import math
import os
import struct
import sys
import time
import unittest
from pathlib import Path

import scene
import torch

import rubato
from rubato.split import metrics
from rubato.split.metrics import collector, event_files, import_hook, loggers, tfevents, until


class FakeLink:
    """What a supervisor would hear."""

    def __init__(self):
        self.points = []
        self.messages = 0
        self.reason = ""

    def metrics(self, points):
        self.messages += 1
        self.points += points

    def exit_reason(self):
        return self.reason


class FakeSteps:
    def __init__(self):
        self.count = 0
        self.numbers = {}


class FakeNotices:
    def __init__(self):
        self.told = {}

    def tell(self, key, sentence):
        self.told.setdefault(key, sentence)


class FakeRoot:
    def __init__(self, name, module):
        self.name = name
        self.module = lambda: module


class FakeController:
    def __init__(self):
        self.link = FakeLink()
        self.steps = FakeSteps()
        self.notices = FakeNotices()
        self.roots = {}
        self.is_leader = True
        self.at_boundary = []

    def boundary(self):
        for function in self.at_boundary:
            function()


class MetricsCase(scene.ScriptCase):
    def setUp(self):
        super().setUp()
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        self.controller = FakeController()
        metrics.install(self.controller)
        self.addCleanup(metrics.uninstall)

    def sent(self):
        metrics.LEADER.collector.flush(is_last=True)
        points, self.controller.link.points = self.controller.link.points, []
        return points


class LogTest(MetricsCase):
    def test_numbers_have_the_steps_done_so_far_or_the_step_that_is_named(self):
        self.controller.steps.count = 7

        rubato.log({"loss": 0.5}, step=3)
        rubato.log(acc=1, lr=torch.tensor(0.25))

        rubato.log(values=2)

        self.assertEqual(self.sent(), [("loss", 0.5, 3), ("acc", 1.0, 7), ("lr", 0.25, 7),
                                       ("values", 2.0, 7)])

    def test_dictionaries_within_make_longer_names(self):
        rubato.log({"val": {"loss": 0.5, "best": {"acc": 1}}})

        self.assertEqual(self.sent(), [("val/loss", 0.5, 0), ("val/best/acc", 1.0, 0)])

    def test_infinities_are_no_numbers_and_nan_is_kept(self):
        rubato.log(a=math.inf, b=math.nan)

        self.assertTrue(all(math.isnan(value) for _, value, _ in self.sent()))

    def test_what_is_no_number_is_told_once_and_left_out(self):
        for _ in range(3):
            rubato.log(name="resnet", image=torch.zeros(2, 2), nothing=None, loss=0.5)

        self.assertEqual([point[0] for point in self.sent()], ["loss"] * 3)
        self.assertEqual(len(self.controller.notices.told), 3)
        self.assertIn("the metric name is no number", self.controller.notices.told["metric-name"])

    def test_anything_but_a_dictionary_is_a_mistake_with_and_without_rubato(self):
        with self.assertRaises(TypeError):
            rubato.log(3)
        metrics.uninstall()
        with self.assertRaises(TypeError):
            rubato.log([("loss", 0.5)])

    def test_names_are_cleaned_and_cut(self):
        rubato.log({" val  loss\n": 1, "\x00\x1b": 2, "x" * 1000: 3, 7: 4})

        self.assertEqual([point[0] for point in self.sent()], ["val_loss", "x" * 128, "7"])

    def test_names_beyond_the_limit_are_left_out_and_told_once(self):
        for number in range(collector.NAMES_MAX + 5):
            rubato.log({f"name{number}": 0.5})

        self.assertEqual(len(self.sent()), collector.NAMES_MAX)
        self.assertEqual(list(self.controller.notices.told), ["metrics-names"])

    def test_many_numbers_become_few_messages_with_ends_and_extremes(self):
        for number in range(20_000):
            self.controller.steps.count = number
            rubato.log(loss=-5 if number == 12_345 else 9 if number == 777 else 1)
        points = self.sent()

        self.assertLess(self.controller.link.messages, 30)
        self.assertLessEqual(len(points), self.controller.link.messages * collector.POINTS_MAX)
        values = [value for _, value, _ in points]
        self.assertIn(-5, values)
        self.assertIn(9, values)
        self.assertEqual(points[-1][2], 19_999)

    def test_nothing_is_told_by_processes_that_are_not_the_leader(self):
        self.controller.is_leader = False
        rubato.log(loss=0.5)
        self.controller.is_leader = True

        self.assertEqual(self.sent(), [])

    def test_a_boundary_sends_what_was_logged_just_before(self):
        rubato.log(a=1)
        rubato.log(b=2)
        metrics.LEADER.collector.sent_at = 0
        self.controller.boundary()

        self.assertEqual([point[0] for point in self.controller.link.points], ["a", "b"])

    def test_without_rubato_nothing_happens_and_quickly(self):
        metrics.uninstall()
        began = time.perf_counter()
        for _ in range(10_000):
            rubato.log(loss=0.5)

        self.assertLess(time.perf_counter() - began, 1)
        self.assertFalse(rubato.should_stop())

    def test_a_script_without_rubato_needs_no_torch_for_it(self):
        script = self.write("""
            import sys, rubato
            rubato.log({"loss": 0.5}, step=1)
            print(rubato.should_stop(), "torch" in sys.modules)
            """)
        ended = self.run_python(script)

        self.assertEqual((ended.returncode, ended.stdout), (0, "False False\n"), ended.stderr)


TENSORBOARDX = """
class SummaryWriter:
    calls = []
    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None):
        self.calls.append((tag, scalar_value, global_step))
    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        self.calls.append((main_tag, tag_scalar_dict, global_step))
"""
WANDB_RUN = """
class Run:
    def log(self, data, step=None, commit=None):
        return ("logged", data, step)
"""
WANDB = """
from . import sdk
from .sdk.wandb_run import Run
def log(data, step=None):
    raise RuntimeError("call wandb.init first")
def init():
    global log
    run = Run()
    log = run.log
    return run
"""
FLUENT = """
calls = []
def log_metric(key, value, step=None, synchronous=None):
    calls.append(key)
def log_metrics(metrics, step=None):
    calls.append(tuple(metrics))
"""


class LoggersTest(MetricsCase):
    """Packages that have the shape of the real ones, which are not installed here."""

    def setUp(self):
        super().setUp()
        site = self.folder / "site"
        for path, text in {
            "tensorboardX/__init__.py": "from .writer import SummaryWriter",
            "tensorboardX/writer.py": TENSORBOARDX,
            "wandb/__init__.py": WANDB,
            "wandb/sdk/__init__.py": "from . import wandb_run",
            "wandb/sdk/wandb_run.py": WANDB_RUN,
            "mlflow/__init__.py": "from .tracking.fluent import log_metric, log_metrics",
            "mlflow/tracking/__init__.py": "",
            "mlflow/tracking/fluent.py": FLUENT,
        }.items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text(text)
        sys.path.insert(0, str(site))
        self.addCleanup(sys.path.remove, str(site))
        self.addCleanup(self.forget)

    def forget(self):
        for name in list(sys.modules):
            if name.split(".")[0] in ("tensorboardX", "wandb", "mlflow"):
                del sys.modules[name]

    def test_scalars_of_a_summary_writer_are_seen(self):
        from tensorboardX import SummaryWriter
        writer = SummaryWriter()

        writer.add_scalar("train/loss", torch.tensor(0.5), 3)
        writer.add_scalar(tag="acc", scalar_value=0.75, global_step=4)
        writer.add_scalars("both", {"a": 1, "b": 2}, 5)

        self.assertEqual(len(writer.calls), 3)
        self.assertEqual(self.sent(), [("train/loss", 0.5, 3), ("acc", 0.75, 4), ("both/a", 1, 5),
                                       ("both/b", 2, 5)])

    def test_a_writer_that_was_imported_before_is_seen_too(self):
        metrics.uninstall()
        from tensorboardX import SummaryWriter
        metrics.install(self.controller)

        SummaryWriter().add_scalar("loss", 0.5, 3)

        self.assertEqual(self.sent(), [("loss", 0.5, 3)])

    def test_runs_of_wandb_are_seen_and_answer_as_before(self):
        import wandb
        with self.assertRaises(RuntimeError):
            wandb.log({"loss": 0.5})
        run = wandb.init()

        answer = wandb.log({"loss": 0.25, "image": object(), "text": "x", "val": {"acc": 1}},
                           step=2)
        run.log({"loss": 0.5}, 3)

        self.assertEqual(answer[0], "logged")
        self.assertEqual(sorted(self.sent()),
                         [("loss", 0.25, 2), ("loss", 0.5, 3), ("val/acc", 1, 2)])
        self.assertEqual(self.controller.notices.told, {})

    def test_metrics_of_mlflow_are_seen_once(self):
        import mlflow

        mlflow.log_metric("loss", 0.5, step=2)
        mlflow.log_metrics({"a": 1.0, "b": 2.0}, step=3)

        self.assertEqual(self.sent(), [("loss", 0.5, 2), ("a", 1, 3), ("b", 2, 3)])
        self.assertEqual(sys.modules["mlflow.tracking.fluent"].calls, ["loss", ("a", "b")])

    def test_calls_that_fail_are_not_metrics_and_calls_we_do_not_know_do_no_harm(self):
        from tensorboardX import SummaryWriter
        writer = SummaryWriter()

        with self.assertRaises(TypeError):
            writer.add_scalar()
        writer.add_scalars("x", {}, 1)

        self.assertEqual(self.sent(), [])

    def test_a_module_keeps_its_own_loader(self):
        import tensorboardX.writer

        self.assertNotIsInstance(tensorboardX.writer.__loader__, import_hook.PatchingLoader)
        self.assertNotIsInstance(tensorboardX.writer.__spec__.loader, import_hook.PatchingLoader)

    def test_uninstall_gives_the_originals_back(self):
        from tensorboardX import SummaryWriter
        self.assertTrue(hasattr(SummaryWriter.add_scalar, loggers.MARK))

        metrics.uninstall()

        self.assertFalse(hasattr(SummaryWriter.add_scalar, loggers.MARK))


def varint(number):
    data = b""
    while number > 0x7F:
        data += bytes([number & 0x7F | 0x80])
        number >>= 7
    return data + bytes([number])


def field(number, value):
    """One field of a message: an int as varint, a float as four bytes, bytes as they are."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (2**64 - 1))
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def record(data):
    head = struct.pack("<Q", len(data))
    return (head + struct.pack("<I", tfevents.masked_crc32c(head)) + data
            + struct.pack("<I", tfevents.masked_crc32c(data)))


def event(step, *values):
    summary = b"".join(field(1, value) for value in values)
    wall_time = varint(1 << 3 | 1) + struct.pack("<d", 1.7e9)
    return record(wall_time + field(2, step) + field(5, summary))


def simple(tag, value):
    return field(1, tag.encode()) + field(2, float(value))


def tensor(tag, body):
    return field(1, tag.encode()) + field(8, body)


VERSION = record(varint(1 << 3 | 1) + struct.pack("<d", 1.7e9) + field(3, b"brain.Event:2"))


class EventFilesTest(MetricsCase):
    def name(self, *ending):
        parts = ending or ("host", os.getpid(), 0)
        return self.folder / ("events.out.tfevents.1700000000." + ".".join(map(str, parts)))

    def poll(self):
        metrics.LEADER.event_files.poll(is_last=True)
        return self.sent()

    def test_the_checksum_is_crc32c(self):
        self.assertEqual(tfevents.crc32c(b"123456789"), 0xE3069283)

    def test_scalars_of_both_kinds_are_read(self):
        no_dimensions = b""
        one_element = field(2, field(1, 1))
        two_elements = field(2, field(1, 2))
        self.name().write_bytes(VERSION + event(
            3, simple("loss", 0.5),
            tensor("a", field(1, 1) + field(2, no_dimensions) + field(4, struct.pack("<f", 1.5))),
            tensor("b", field(1, 1) + field(2, one_element) + field(5, struct.pack("<f", 2.5))),
            tensor("c", field(1, 9) + field(10, varint(7))),
            tensor("d", field(1, 2) + field(4, struct.pack("<d", -1))),
            tensor("many", field(1, 1) + field(2, two_elements) + field(4, bytes(8))),
            tensor("text", field(1, 7) + field(8, b"words")),
            field(1, b"picture") + field(4, b"png")))

        self.assertEqual(self.poll(), [("loss", 0.5, 3), ("a", 1.5, 3), ("b", 2.5, 3), ("c", 7, 3),
                                       ("d", -1, 3)])

    def test_a_growing_file_is_followed_and_half_a_record_waits(self):
        data = event(1, simple("loss", 4)) + event(2, simple("loss", 2))
        found = []
        for end in (0, 5, 20, len(data) // 2 + 9, len(data) - 1, len(data)):
            self.name().write_bytes(data[:end])
            found += self.poll()

        self.assertEqual(found, [("loss", 4, 1), ("loss", 2, 2)])

    def test_a_file_with_a_wrong_checksum_is_read_no_further_and_told_of(self):
        good = event(1, simple("loss", 4))
        for at in (3, 9, len(good) - 1, 30):
            bad = bytearray(event(2, simple("loss", 2)))
            bad[at] ^= 1
            path = self.name("host", os.getpid(), at)
            path.write_bytes(good + bytes(bad) + event(3, simple("loss", 1)))
            self.assertEqual(self.poll(), [("loss", 4, 1)], at)
        self.assertEqual(len(self.controller.notices.told), 4)

    def test_records_of_something_else_are_passed_over(self):
        noise = [record(b"\xff\xff\xff"), record(b""), record(bytes(2 << 20)),
                 record(field(5, b"\x0a\x7f"))]
        self.name().write_bytes(b"".join(noise) + event(1, simple("loss", 4)))

        self.assertEqual(self.poll(), [("loss", 4, 1)])

    def test_what_was_there_before_the_script_is_not_read(self):
        metrics.uninstall()
        path = self.name()
        path.write_bytes(event(1, simple("loss", 4)))
        metrics.install(self.controller)

        before = self.poll()
        with open(path, "ab") as file:
            file.write(event(2, simple("loss", 2)))

        self.assertEqual((before, self.poll()), ([], [("loss", 2, 2)]))

    def test_files_of_other_processes_are_left_to_them(self):
        self.name("host.with.dots", 1, 0).write_bytes(event(1, simple("other", 4)))
        self.name("host", 1, 0, "v2").write_bytes(event(1, simple("another", 4)))
        self.name("host").write_bytes(event(1, simple("unnamed", 4)))

        self.assertEqual(self.poll(), [("unnamed", 4, 1)])

    def test_an_open_file_is_found_wherever_it_lies(self):
        elsewhere = self.folder / "deep"
        elsewhere.mkdir()
        os.chdir(elsewhere)
        with open(self.name("host", 1, 0), "wb") as file:
            file.write(event(1, simple("loss", 4)))
            file.flush()
            found = self.poll()

        self.assertEqual(found, [("loss", 4, 1)])

    def test_what_a_watched_writer_told_is_not_read_again(self):
        metrics.recorded("loss", 0.5, 1)
        self.name().write_bytes(event(1, simple("loss", 0.5), simple("only_here", 1)))

        self.assertEqual(self.poll(), [("loss", 0.5, 1), ("only_here", 1, 1)])

    def test_a_large_folder_is_not_searched_to_its_end(self):
        folder = self.folder / "data"
        folder.mkdir()
        for number in range(50):
            (folder / str(number)).write_bytes(b"")
        original, event_files.ENTRIES_MAX = event_files.ENTRIES_MAX, 10
        self.addCleanup(setattr, event_files, "ENTRIES_MAX", original)

        self.assertLessEqual(len(list(event_files.files_below(str(folder)))), 10)

    def test_any_bytes_do_no_harm(self):
        generator = torch.Generator().manual_seed(1)
        for _ in range(500):
            data = bytes(torch.randint(0, 256, (40,), generator=generator).tolist())
            tfevents.scalars_of(data)
            whole = bytearray(event(3, simple("loss", 0.5)))[12:-4]
            whole[int(data[0]) % len(whole)] ^= data[1] or 1
            tfevents.scalars_of(bytes(whole))


class EarlyEndTest(MetricsCase):
    def setUp(self):
        super().setUp()
        self.model = scene.model()
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.model(torch.zeros(2, 6)).sum().backward()
        self.optimizer.step()
        self.controller.roots[1] = FakeRoot("Sequential", self.model)
        self.controller.roots[2] = FakeRoot("Tanh", torch.nn.Tanh())
        self.controller.steps.numbers[self.optimizer] = 1
        self.controller.steps.count = 340
        os.environ["RUBATO_JOB_DIRECTORY"] = str(self.folder)
        self.addCleanup(os.environ.pop, "RUBATO_JOB_DIRECTORY")

    def test_nothing_ends_before_the_supervisor_asks(self):
        self.controller.link.reason = "suspended"
        self.controller.boundary()

        self.assertFalse(rubato.should_stop())
        self.assertFalse((self.folder / until.FILE_NAME).exists())

    def test_the_next_boundary_saves_the_state_and_leaves_cleanly(self):
        self.controller.link.reason = "until"
        with self.assertRaises(SystemExit) as left:
            self.controller.boundary()

        self.assertEqual(left.exception.code, 0)
        state = torch.load(self.folder / until.FILE_NAME)
        self.assertEqual(state["step"], 340)
        self.assertEqual(list(state["models"]), ["Sequential"])
        fresh = scene.model()
        fresh.load_state_dict(state["models"]["Sequential"])
        self.assertEqual(scene.hash_of(fresh), scene.hash_of(self.model))
        torch.optim.Adam(fresh.parameters()).load_state_dict(state["optimizers"][0])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), [until.FILE_NAME])

    def test_a_script_that_asks_ends_by_itself(self):
        self.assertFalse(rubato.should_stop())
        self.controller.link.reason = "until"

        self.controller.boundary()

        self.assertTrue(rubato.should_stop())
        self.assertTrue((self.folder / until.FILE_NAME).exists())

    def test_a_script_that_asks_and_goes_on_is_ended_after_all(self):
        rubato.should_stop()
        self.controller.link.reason = "until"
        self.controller.boundary()
        self.controller.steps.count += until.STEPS_OF_GRACE

        with self.assertRaises(SystemExit):
            self.controller.boundary()

    def test_a_state_that_cannot_be_written_is_told_and_does_not_keep_the_script(self):
        os.environ["RUBATO_JOB_DIRECTORY"] = str(self.folder / "missing")
        self.controller.link.reason = "until"

        with self.assertRaises(SystemExit):
            self.controller.boundary()

        self.assertIn("until-state", self.controller.notices.told)

    def test_finally_blocks_and_exit_functions_of_the_script_run(self):
        script = self.write(f"""
            import atexit, sys
            sys.path.insert(0, {str(Path(__file__).parent)!r})
            import test_metrics
            from rubato.split import metrics
            controller = test_metrics.FakeController()
            metrics.install(controller)
            atexit.register(lambda: print("at exit"))
            metrics.log(loss=0.5)
            controller.link.reason = "until"
            try:
                controller.boundary()
                print("goes on")
            except Exception:
                print("caught")
            finally:
                print("finally")
            """)
        ended = self.run_python(script, RUBATO_JOB_DIRECTORY=str(self.folder))

        self.assertEqual((ended.returncode, ended.stdout), (0, "finally\nat exit\n"), ended.stderr)
        self.assertTrue((self.folder / until.FILE_NAME).exists())


if __name__ == "__main__":
    unittest.main()
