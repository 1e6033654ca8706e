"""Tests of the runner, with programs that stand in for rubato. Needs neither build nor data."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "harness")]

import campaign  # noqa: E402
import child  # noqa: E402
import expectation  # noqa: E402
import reference  # noqa: E402
import run  # noqa: E402
import sensitivity  # noqa: E402
import settings  # noqa: E402
import tables  # noqa: E402
from bad_config import BadConfig  # noqa: E402

# Obeys both verbs: writes a trace where it is told to, prints one result row.
OBEDIENT = """
import json, sys
words = sys.argv[1:]
if words[0] == "trace":
    text = "job_id,submit_time,ddl\\n0,10,20\\n"
    open(words[words.index("--output") + 1], "w").write(text)
else:
    row = {"deadline_met_ratio": 0.9, "deadline_met": 9, "deadline_jobs": 10}
    row |= {"deadline_upper_bound": 1.0, "promises_broken": BROKEN, "wall_seconds": 0.1}
    row |= {"cluster_efficiency": 0.5, "makespan_seconds": 3600, "jct_avg_seconds": 1800}
    row |= {"best_effort_jct_avg_seconds": 7200, "policy": words[words.index("--policy") + 1]}
    print(json.dumps({"results": [row]}))
"""


def expected(**changed: object) -> expectation.Expectation:
    """An expectation of 0.9 at least, with what the test is about changed."""
    values = {"run": "a", "policy": "elasticflow", "accounting": "artifact", "metric": "dsr"}
    values |= {"relation": "at least", "value": 0.9, "tolerance": 0.0, "source": "published"}
    return expectation.Expectation(**(values | {"trials": "1"} | changed))  # type: ignore[arg-type]


class Scratch(unittest.TestCase):
    """A folder per test, and programs in it."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def program(self, text: str) -> Path:
        """An executable Python script."""
        path = self.folder / "rubato"
        path.write_text(f"#!{sys.executable} -S\n{text}", encoding="utf-8")
        path.chmod(0o755)
        return path

    def file(self, name: str, text: str) -> Path:
        """A text file."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def main(self, *words: object) -> tuple[int, str]:
        """Exit code and everything printed by the whole command."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = run.main([str(word) for word in words])
        return code, out.getvalue()


class ConfigTest(Scratch):
    GOOD = 'figure = "1"\ntitle = "t"\nmetrics = ["dsr"]\n'
    RUN = '[[run]]\nname = "a"\ntrace = "a.csv"\ncluster = "1x1"\n'

    def test_every_shipped_file_can_be_read(self) -> None:
        figures = settings.load_figures(HERE / "figures")
        ablation = settings.load_ablation(HERE / "ablation.toml")
        rows = expectation.load_expected(HERE / "expected.csv")
        known = reference.load_measured(HERE / "reference.csv")

        names = {one.name for figure in figures for one in figure.runs}
        self.assertEqual([one.figure for one in figures], ["6b", "8a", "8b", "9", "10", "11"])
        self.assertTrue(names.issuperset(ablation.runs))
        self.assertTrue(names.issuperset(sensitivity.RUNS))
        self.assertEqual({row.run for row in rows} - names, {"*"})
        self.assertEqual({key.run for key in known} - names, set())
        self.assertEqual({row.policy for row in rows} - set(settings.POLICIES), set())

    def test_every_figure_can_be_run_without_data(self) -> None:
        for figure in settings.load_figures(HERE / "figures"):
            self.assertTrue(any(one.fallback for one in figure.runs), figure.figure)

    def test_a_wrong_file_is_named_with_what_is_wrong(self) -> None:
        cases = {
            "not TOML": "figure = ",
            "no run": self.GOOD,
            "no slot": self.GOOD + self.RUN,
            "slot 0": self.GOOD + self.RUN + "slot = 0\n",
            "unknown key": self.GOOD + self.RUN + 'slot = 60\ncolour = "red"\n',
            "unknown metric": self.GOOD.replace("dsr", "beauty") + self.RUN + "slot = 60\n",
            "folder": self.GOOD + self.RUN.replace("a.csv", "../a.csv") + "slot = 60\n",
        }
        for name, text in cases.items():
            with self.subTest(name), self.assertRaisesRegex(BadConfig, "f.toml"):
                settings.load_figure(self.file("f.toml", text))

    def test_two_runs_of_one_name_are_refused(self) -> None:
        for name in ("f.toml", "g.toml"):
            self.file(name, self.GOOD + self.RUN + "slot = 60\n")

        with self.assertRaisesRegex(BadConfig, "two runs"):
            settings.load_figures(self.folder)


class ExpectationTest(Scratch):
    def test_relations(self) -> None:
        near = expected(relation="near", tolerance=0.02)
        most = expected(relation="at most", value=0.0)

        self.assertTrue(expectation.holds(near, 0.92) and expectation.holds(near, 0.88))
        self.assertFalse(expectation.holds(near, 0.921) or expectation.holds(near, 0.879))
        self.assertTrue(expectation.holds(expected(), 0.9))
        self.assertFalse(expectation.holds(expected(), 0.899))
        self.assertTrue(expectation.holds(most, 0))
        self.assertFalse(expectation.holds(most, 1))

    def test_what_is_no_number_never_holds(self) -> None:
        for relation in expectation.RELATIONS:
            self.assertFalse(expectation.holds(expected(relation=relation), float("nan")))

    def test_only_a_bar_can_be_missed(self) -> None:
        bar = expected(source="bar: project")

        self.assertEqual(expectation.mark(expected(), 0.5, True), "off")
        self.assertEqual(expectation.mark(bar, 0.5, True), "MISSED")
        self.assertEqual(expectation.mark(bar, None, True), "MISSED")
        self.assertEqual(expectation.mark(bar, None, False), "skipped")
        self.assertEqual(expectation.mark(bar, 0.9, True), "ok")

    def test_a_wrong_row_is_named_by_its_line(self) -> None:
        head = "run,policy,accounting,metric,relation,value,tolerance,source,trials\n"
        for row in ("a,b,c,d,near,x,0,s,1", "a,b,c,d,about,1,0,s,1", "a,b,c,d,near,1,-1,s,1", "a"):
            with self.subTest(row), self.assertRaisesRegex(BadConfig, "e.csv:2"):
                expectation.load_expected(self.file("e.csv", head + row + "\n"))


class ChildTest(Scratch):
    def simulate(self, text: str) -> dict[str, object]:
        simulation = child.Simulation(Path("t.csv"), "1x1", 60, "elasticflow", "artifact")
        return child.simulate(self.program(text), simulation)

    def test_a_result_carries_cpu_time_and_command(self) -> None:
        row = self.simulate(OBEDIENT.replace("BROKEN", "0"))

        self.assertGreater(row["cpu_seconds"], 0)
        self.assertIn("--policy elasticflow --overhead artifact", str(row["command"]))

    def test_hostile_programs_fail_with_a_reason(self) -> None:
        cases = {
            "exit code 3: boom": 'import sys\nprint("boom", file=sys.stderr)\nsys.exit(3)',
            "exit code -9": "import os\nos.kill(os.getpid(), 9)",
            "not the JSON": 'print("hello")',
            "results": 'print("{}")',
            "IndexError": "print('{\"results\": []}')",
            "NoneType": "print('{\"results\": [{\"deadline_met_ratio\": null}]}')",
        }
        for reason, text in cases.items():
            with self.subTest(reason), self.assertRaisesRegex(child.ChildFailed, reason):
                self.simulate(text)

    def test_a_program_that_hangs_is_ended(self) -> None:
        path = self.program("while True: pass")

        with self.assertRaisesRegex(child.ChildFailed, "exit code -9"):
            child.run([str(path)], seconds_max=0.2)

    def test_a_program_that_is_not_there(self) -> None:
        with self.assertRaisesRegex(child.ChildFailed, "No such file"):
            child.run([str(self.folder / "nothing")])


class CommandTest(Scratch):
    def words(self, data: Path) -> list[object]:
        """Figure 8a alone, everything inside the folder."""
        binary = self.folder / "rubato"
        return ["--binary", binary, "--data", data, "--output", self.folder, "--figure", "8a"]

    def test_without_data_it_runs_and_says_what_is_skipped(self) -> None:
        self.program(OBEDIENT.replace("BROKEN", "0"))

        code, text = self.main(*self.words(self.folder / "none"))

        document = json.loads((self.folder / "elasticflow.json").read_text(encoding="utf-8"))
        self.assertEqual(code, 0, text)
        self.assertIn("NO DATA", text)
        self.assertTrue(document["made_up_traces"])
        self.assertEqual(len(document["results"]), 9)
        self.assertNotIn("0.728", text)  # No published value beside a made-up trace.

    def test_a_broken_promise_fails_the_command(self) -> None:
        self.program(OBEDIENT.replace("BROKEN", "1"))

        code, text = self.main(*self.words(self.folder / "none"))

        self.assertEqual(code, 1, text)
        self.assertIn("MISSED", text)

    def test_a_trace_that_is_missing_is_skipped_by_name(self) -> None:
        self.program(OBEDIENT.replace("BROKEN", "0"))
        self.file("speeds.csv", "")
        figures = settings.load_figures(HERE / "figures")
        place = campaign.Place(self.folder / "rubato", self.folder, self.folder)
        results = campaign.Results()

        campaign.run_figure(place, figures[2], results)

        self.assertEqual(len(results.skipped), 11)
        self.assertIn("no cluster02.csv", results.skipped["cluster02"])
        self.assertFalse(results.was_run("cluster02"))

    def test_with_data_the_bars_of_the_trace_count(self) -> None:
        self.program(OBEDIENT.replace("BROKEN", "0"))
        self.file("speeds.csv", "")
        self.file("t4_195job.csv", "")
        paper = "figure,setting,metric,Tiresias,Pollux\n8a,x,dsr,0.287,0.523\n"
        self.file("paper_fig6_8a_9_11.csv", paper)

        code, text = self.main(*self.words(self.folder))

        self.assertEqual(code, 1)  # 0.9 is not near 0.287.
        self.assertIn("Pollux 0.523 (published)", text)
        self.assertRegex(text, r"tiresias +0\.900 +0\.287 +0\.287")

    def test_a_missing_or_useless_binary_is_code_2(self) -> None:
        code, text = self.main(*self.words(self.folder / "none"))
        self.assertEqual((code, "make build" in text), (2, True))

        self.program("import sys\nsys.exit(70)")
        code, text = self.main(*self.words(self.folder / "none"))
        self.assertEqual((code, "exit code 70" in text), (2, True))


class TablesTest(Scratch):
    TABLE = tables.Table("t", ["a", "b"], [["<x>", "1"], ["yy", "22"]], ["note"])

    def test_text_is_aligned(self) -> None:
        lines = tables.as_text(self.TABLE).splitlines()

        self.assertEqual(lines, ["t", "  a     b", "  <x>   1", "  yy   22", "  note"])

    def test_html_is_escaped(self) -> None:
        page = tables.as_html([self.TABLE], "<t>", ["<p>"])

        self.assertIn("&lt;x&gt;", page)
        self.assertNotIn("<x>", page)

    def test_jitter_moves_arrival_and_deadline_together(self) -> None:
        source = self.file("a.csv", "job_id,submit_time,ddl\n0,10,20\n1,11,31\n")
        target = self.folder / "b.csv"

        sensitivity.jitter(source, target, seed=1)

        rows = [line.split(",") for line in target.read_text(encoding="utf-8").splitlines()[1:]]
        self.assertEqual([int(row[2]) - int(row[1]) for row in rows], [10, 20])
        self.assertTrue(all(0 <= int(row[1]) - was <= 2 for row, was in zip(rows, (10, 11))))


if __name__ == "__main__":
    unittest.main()
