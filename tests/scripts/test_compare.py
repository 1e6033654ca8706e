"""The comparer must notice what it is there for: each test breaks one thing."""

import io
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

try:
    import torch
except ImportError:
    print("torch is not installed: skipped")
    sys.exit(0)

from catalog import CATALOG, Entry  # noqa: E402
from compare import Rule, compare, last_digit_of, tokens  # noqa: E402
from harness import HERE, Events  # noqa: E402
from outcome import Outcome  # noqa: E402

ENTRY = Entry("data/none", steps=3, files=("best.pt", "log-*.csv"), ignored=(r"took \S+ s",))


def saved(value: object) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def outcome(shift: float = 0.0) -> Outcome:
    weight = torch.arange(1.0, 5.0, dtype=torch.float64) + shift
    return Outcome(
        exit_codes=[0],
        stdout=f"epoch 1 loss {0.5 + shift:.6f}\nepoch 2 loss {0.25 + shift:.6f}\ntook 3.1 s\n"
               f"FINAL steps 3 norm {5.477226 + shift:.6f}\n",
        stderr="a warning\n",
        files={"best.pt": saved({"model": {"w": weight}, "epoch": 2}),
               "log-1234.csv": f"1,{0.5 + shift:.6f}\n2,0.250000\n".encode()},
        probe={"tensors": {"model.w": weight, "model.count": torch.tensor([3])},
               "samples": "abc", "batches": 3, "random": {"torch": "x", "python": "y"}},
        steps=3,
    )


class CompareTest(unittest.TestCase):
    def problems(self, found: Outcome, rule: Rule = Rule("sharp"), plain: object = None) -> list:
        return compare(ENTRY, plain or [outcome()], found, rule).problems

    def assert_noticed(self, found: Outcome, fragment: str) -> None:
        problems = self.problems(found)
        self.assertTrue(any(fragment in problem for problem in problems), problems)

    def test_accepts_an_equal_outcome(self) -> None:
        found = outcome()
        found.stdout = found.stdout.replace("3.1", "4.7")
        found.stderr = "rubato: calls of Net are not split: ...\n" + found.stderr

        self.assertEqual(self.problems(found), [])

    def test_accepts_our_words_after_a_progress_bar(self) -> None:
        plain, found = outcome(), outcome()
        plain.stderr = "1/2\n"
        found.stderr = "1/2rubato: a copy of it goes on\n"

        self.assertEqual(self.problems(found, plain=[plain]), [])

    def test_notices_a_dropped_line(self) -> None:
        found = outcome()
        found.stdout = found.stdout.replace("epoch 2 loss 0.250000\n", "")

        self.assert_noticed(found, "3 lines instead of 4")

    def test_notices_a_repeated_line(self) -> None:
        found = outcome()
        found.stdout = "epoch 1 loss 0.500000\n" + found.stdout

        self.assert_noticed(found, "5 lines instead of 4")

    def test_notices_lines_in_another_order(self) -> None:
        found = outcome()
        lines = found.stdout.splitlines(keepends=True)
        found.stdout = "".join([lines[3], *lines[:3]])

        self.assert_noticed(found, "stdout:1")

    def test_notices_another_number(self) -> None:
        found = outcome()
        found.stdout = found.stdout.replace("0.250000", "0.250003")

        self.assert_noticed(found, "0.250003 instead of 0.250000")

    def test_notices_another_whole_number(self) -> None:
        found = outcome()
        found.stdout = found.stdout.replace("steps 3", "steps 4")

        self.assert_noticed(found, "4 instead of 3")

    def test_notices_a_missing_file(self) -> None:
        found = outcome()
        del found.files["best.pt"]

        self.assert_noticed(found, "files best.pt")

    def test_notices_a_file_that_is_too_many(self) -> None:
        found = outcome()
        found.files["best.pt.tmp"] = b""

        self.assert_noticed(found, "nobody expected")

    def test_notices_a_second_dated_file(self) -> None:
        found = outcome()
        found.files["log-1235.csv"] = found.files["log-1234.csv"]

        self.assert_noticed(found, "log-*.csv")

    def test_accepts_another_date(self) -> None:
        found = outcome()
        found.files["log-1235.csv"] = found.files.pop("log-1234.csv")

        self.assertEqual(self.problems(found), [])

    def test_notices_another_text_in_a_file(self) -> None:
        found = outcome()
        found.files["log-1234.csv"] += b"2,0.250000\n"

        self.assert_noticed(found, "file log-1234.csv: 3 lines instead of 2")

    def test_notices_untrained_weights_in_a_checkpoint(self) -> None:
        found = outcome()
        found.files["best.pt"] = saved({"model": {"w": torch.zeros(4).double()}, "epoch": 2})

        self.assert_noticed(found, "file best.pt /model/w")

    def test_notices_another_epoch_in_a_checkpoint(self) -> None:
        found = outcome()
        weight = torch.arange(1.0, 5.0, dtype=torch.float64)
        found.files["best.pt"] = saved({"model": {"w": weight}, "epoch": 1})

        self.assert_noticed(found, "file best.pt /epoch: 1 instead of 2")

    def test_notices_a_damaged_checkpoint(self) -> None:
        found = outcome()
        found.files["best.pt"] = found.files["best.pt"][:100]

        self.assert_noticed(found, "cannot be read")

    def test_notices_a_wrong_step_count(self) -> None:
        found = outcome()
        found.steps = 4

        self.assert_noticed(found, "4 steps instead of 3")

    def test_notices_another_exit_code(self) -> None:
        found = outcome()
        found.exit_codes = [65]

        self.assert_noticed(found, "exit codes [65]")

    def test_notices_other_samples(self) -> None:
        found = outcome()
        found.probe["samples"] = "acb"

        self.assert_noticed(found, "other samples")

    def test_notices_a_generator_that_was_drawn_from(self) -> None:
        found = outcome()
        found.probe["random"]["python"] = "z"

        self.assert_noticed(found, "generator of python")

    def test_notices_a_parameter_that_is_wrong_by_a_millionth(self) -> None:
        found = outcome()
        found.probe["tensors"]["model.w"] = found.probe["tensors"]["model.w"] * (1 + 1e-6)

        self.assert_noticed(found, "tensor model.w")

    def test_notices_a_count_in_a_buffer(self) -> None:
        found = outcome()
        found.probe["tensors"]["model.count"] = torch.tensor([4])

        self.assert_noticed(found, "tensor model.count")

    def test_notices_a_parameter_that_is_not_a_number(self) -> None:
        found = outcome()
        found.probe["tensors"]["model.w"] = torch.full((4,), float("nan")).double()

        self.assert_noticed(found, "tensor model.w")

    def test_notices_what_the_script_said_on_standard_error(self) -> None:
        found = outcome()
        found.stderr += "a warning\n"

        self.assert_noticed(found, "stderr: 2 lines instead of 1")

    def test_allows_what_rounding_does_and_no_more(self) -> None:
        plain = [outcome(), outcome(1e-5), outcome(-2e-5)]

        self.assertEqual(self.problems(outcome(6e-5), Rule("rounding"), plain), [])
        self.assertNotEqual(self.problems(outcome(3e-4), Rule("rounding"), plain), [])

    def test_allows_what_other_seeds_do_and_no_more(self) -> None:
        plain = [outcome(), outcome(0.02), outcome(-0.02)]

        self.assertEqual(self.problems(outcome(0.03), Rule("statistical"), plain), [])
        self.assertNotEqual(self.problems(outcome(0.2), Rule("statistical"), plain), [])

    def test_ignores_the_order_of_samples_where_forward_is_random(self) -> None:
        entry = Entry(**{**vars(ENTRY), "is_random": True})
        found = outcome()
        found.probe["samples"] = "acb"

        plain = [outcome(), outcome(0.02)]
        self.assertEqual(compare(entry, plain, found, Rule("statistical")).problems, [])


class TokensTest(unittest.TestCase):
    def test_separates_numbers_from_words(self) -> None:
        line = "epoch 3: lr 1.5e-05, loss -0.25 (4/10) conv2d nan"

        template, numbers = tokens(line)

        self.assertEqual(numbers, ["3", "1.5e-05", "-0.25", "4", "10", "2", "nan"])
        self.assertNotEqual(template, tokens("epoch 3: lr 1.5e-05")[0])

    def test_knows_the_worth_of_the_last_digit(self) -> None:
        self.assertEqual(last_digit_of("12"), 0.0)
        self.assertAlmostEqual(last_digit_of("0.250"), 1e-3)
        self.assertAlmostEqual(last_digit_of("1.5e-05"), 1e-6)


class CatalogTest(unittest.TestCase):
    def test_lists_every_script_once(self) -> None:
        scripts = {str(path.relative_to(HERE))[:-3] for path in HERE.glob("*/*.py")
                   if path.parent.name != "probe"} | {"loops/project_layout/train"}

        self.assertEqual(sorted(entry.name for entry in CATALOG), sorted(scripts))

    def test_scripts_import_nothing_of_ours(self) -> None:
        for entry in CATALOG:
            text = (HERE / f"{entry.name}.py").read_text(encoding="utf-8")
            self.assertNotIn("rubato", text, entry.name)
            self.assertTrue(text.startswith('"""'), entry.name)
            self.assertIn("FINAL", text if "project" not in entry.name else "FINAL", entry.name)

    def test_quick_scripts_are_sharp(self) -> None:
        quick = [entry for entry in CATALOG if entry.is_quick]

        self.assertTrue(all(entry.is_sharp for entry in quick))
        self.assertGreaterEqual(len(quick), 12)


class EventsTest(unittest.TestCase):
    def test_depend_on_the_seed_alone(self) -> None:
        first = Events.drawn("mixed", 100, 50, seed=4)

        self.assertEqual(first, Events.drawn("mixed", 100, 50, seed=4))
        self.assertNotEqual(first, Events.drawn("mixed", 100, 50, seed=5))
        self.assertEqual([workers for _, workers in first.plan], [1, 2, 3, 1, 2])
        self.assertEqual(len(first.kills), 2)

    def test_are_none_if_none_are_wanted(self) -> None:
        self.assertEqual(Events.drawn("none", 100, 50, seed=1), Events())


if __name__ == "__main__":
    unittest.main()
