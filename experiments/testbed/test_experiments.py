"""Tests of the workload, of what is compared, and of whether the command fails, with a stand-in for rubato."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "harness")]

import analysis  # noqa: E402
import run  # noqa: E402
import workload  # noqa: E402
from comparison import Outcome, numbers_of, percentile  # noqa: E402
from expectation import load_expected  # noqa: E402
from platform_run import Settings, moment, text_of  # noqa: E402

# A platform that promises everything and ends each job LATE seconds after it was quoted, and a simulator
# that ends it when it was quoted.
STAND_IN = '''
import http.server, json, sys, time
from datetime import datetime, timezone
LATE = {late}
words = sys.argv[1:]
def text(t): return datetime.fromtimestamp(t, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
if words[0] == "sim":
    rows = [json.loads(line) for line in open(words[words.index("--trace") + 1])][1:]
    events = [dict(ph="X", name=r["name"], ts=r["arrival"] * 1e6, dur=1e6, args=dict(workers=1)) for r in rows]
    json.dump(dict(traceEvents=events), open(words[words.index("--perfetto") + 1], "w"))
    print(json.dumps(dict(results=[dict(finished=len(rows))])))
    sys.exit()
jobs = []
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def do_POST(self):
        spec = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        now = time.time()
        jobs.append(dict(id=str(len(jobs) + 1), spec=spec, state="SUCCEEDED", resizes=1, submitted=text(now),
                         deadline=spec["deadline"], promised=spec["deadline"], quoted=text(now + 1),
                         finished=text(now + 1 + LATE)))
        self.answer(dict(job=jobs[-1]))
    def do_GET(self):
        if self.path.startswith("/v1/nodes"):
            return self.answer(dict(nodes=[dict(up=True)] * 16))
        self.answer(dict(jobs=jobs, next_page_token="", events=[]))
    def log_message(self, *words):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(f"rubato listens on http://127.0.0.1:{{server.server_port}}", flush=True)
server.serve_forever()
'''

TRACE = """job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration
first-job-of-the-trace,1000,2400,bert,3400,64,1,240
later,1240,1200,bert,13240,64,1,2400000
"""
SPEEDS = """gpu_type,model,global_batch,gpus,iters_per_s
A100,bert,64,1,10
A100,bert,64,2,16
A100,bert,64,4,12
T4,bert,64,1,3
"""


class Workload(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        (self.folder / "195job.csv").write_text(TRACE, encoding="utf-8")
        (self.folder / "speeds.csv").write_text(SPEEDS, encoding="utf-8")

    def jobs(self) -> list[workload.TestbedJob]:
        return workload.read_elasticflow(self.folder / "195job.csv", self.folder / "speeds.csv", 240)

    def test_times_shrink_and_training_takes_as_much_less(self) -> None:
        first = self.jobs()[0]

        self.assertEqual((first.arrival, first.allowed), (0, 10))
        self.assertAlmostEqual(first.steps / first.speeds[1], 1)  # 240 s on one GPU.
        self.assertAlmostEqual(first.steps / first.speeds[2], 150 / 240)

    def test_gpus_that_slow_a_job_down_are_not_offered(self) -> None:
        self.assertEqual(list(self.jobs()[0].speeds), [1, 2])

    def test_the_longest_job_keeps_its_tightness(self) -> None:
        later = self.jobs()[1]

        self.assertEqual(later.arrival, 1)
        self.assertAlmostEqual(later.allowed, 12_000 / 240 / 12)
        self.assertAlmostEqual(later.steps / later.speeds[1], 120 / 240 / 12, places=5)

    def test_steps_are_no_more_than_two_cores_carry(self) -> None:
        for alone, best in ((1000, 1100), (1000, 64000), (0.01, 0.3)):
            _, speeds = workload.emulated(1e6 * alone, {1: alone, 64: best}, 240)
            self.assertLessEqual(speeds[1], workload.STEPS_PER_SECOND_ALONE_MAX * 1.001)
            self.assertLessEqual(speeds[64], workload.STEPS_PER_SECOND_MAX * 1.001)

    def test_assumed_curves_go_through_their_point(self) -> None:
        self.assertAlmostEqual(workload.assumed_speeds(4, 3)[4], 3)


class Compared(unittest.TestCase):
    def test_moments_read_back(self) -> None:
        self.assertAlmostEqual(moment(text_of(1_700_000_000.25)), 1_700_000_000.25)
        self.assertEqual(moment("1970-01-01T00:01:00Z"), 60)

    def test_plans_end_before_deadlines_do(self) -> None:
        settings = Settings(margin=0.1, margin_min=2)

        self.assertEqual([settings.planned(allowed) for allowed in (10, 100)], [8, 90])

    def test_refused_jobs_met_no_deadline_and_have_no_completion_time(self) -> None:
        outcomes = [Outcome("a", 0, 10, 6, True), Outcome("b", 0, 10), Outcome("c", 2, 10, 12, True)]

        numbers = numbers_of(outcomes)

        self.assertEqual((numbers.admitted, numbers.finished, numbers.broken), (2, 2, 1))
        self.assertAlmostEqual(numbers.deadline_ratio, 1 / 3)
        self.assertEqual(numbers.jct_mean, 8)

    def test_quote_errors_count_from_the_submission(self) -> None:
        self.assertEqual(Outcome("a", 10, 99, 19, True, quoted=20).quote_error, -0.1)
        self.assertIsNone(Outcome("a", 10, 99, 19, False, quoted=20).quote_error)

    def test_percentiles_are_values_that_occur(self) -> None:
        self.assertEqual(percentile([3, 1, 2], 0.5), 2)
        self.assertEqual(percentile([1, 2, 3, 4], 0.9), 4)

    def test_arrivals_after_a_job_are_those_before_its_quoted_finish(self) -> None:
        one = Outcome("a", 0, 99, 10, True, quoted=10)
        others = [Outcome("b", 5, 99, 50, True), Outcome("c", 11, 99, 50, True), Outcome("d", 6, 99)]

        self.assertEqual(analysis.arrivals_after(one, [one, *others]), 1)


class Runner(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        (self.folder / "195job.csv").write_text(TRACE, encoding="utf-8")
        (self.folder / "speeds.csv").write_text(SPEEDS, encoding="utf-8")

    def run_with(self, late: float) -> tuple[int, str]:
        program = self.folder / "rubato"
        text = f"#!{sys.executable}\n{STAND_IN.format(late=late)}"
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
        words = ["--binary", str(program), "--data", str(self.folder), "--output", str(self.folder)]
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = run.main(words)
        return code, out.getvalue()

    def test_worlds_that_agree_miss_no_bar(self) -> None:
        code, text = self.run_with(late=0)

        self.assertEqual(code, 0, text)
        self.assertIn("bars missed: 0", text)

    def test_a_broken_promise_is_a_missed_bar(self) -> None:
        code, text = self.run_with(late=100)

        self.assertEqual(code, 1, text)
        self.assertRegex(text, r"promises broken .*2\.00 +MISSED")
        self.assertRegex(text, r"quote error p90 percent .* MISSED")

    def test_every_row_names_a_number_that_is_measured(self) -> None:
        numbers = numbers_of([Outcome("a", 0, 10, 6, True)])

        for row in load_expected(HERE / "expected.csv"):
            self.assertIsNotNone(run.expected_value(row.metric, numbers, numbers, [0.0]), row)

    def test_a_missing_program_is_code_2(self) -> None:
        out = io.StringIO()
        with contextlib.redirect_stderr(out):
            code = run.main(["--binary", str(self.folder / "none")])

        self.assertEqual((code, "make build" in out.getvalue()), (2, True))


if __name__ == "__main__":
    unittest.main()
