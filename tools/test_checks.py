"""Tests of the repository's own checks: each rule must find its breach, and nothing else."""

import tempfile
import unittest
from pathlib import Path

import bench_growth
import check_layers
import check_tidy

LAYERS = "base:\ncore: base\nsim: base core\n"
THIRD_PARTY = "fmt: *\nnlohmann: sim\n"
HEADER = "// What this is.\n#pragma once\n"


class TreeTest(unittest.TestCase):
    """Gives each test an empty repository."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.write("tools/layers.txt", LAYERS)
        self.write("tools/third_party.txt", THIRD_PARTY)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


class LayersTest(TreeTest):
    def problems(self):
        return check_layers.check(self.root)

    def assert_one(self, expected):
        problems = self.problems()
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(expected, problems[0])

    def test_accepts_an_arrow_that_points_up(self):
        self.write("src/rubato/base/time.h", HEADER)
        self.write("src/rubato/core/job.h", '#include "rubato/base/time.h"\n#include <vector>\n')

        self.assertEqual(self.problems(), [])

    def test_refuses_an_arrow_that_points_down(self):
        self.write("src/rubato/core/job.cc", '#include "rubato/sim/queue.h"\n')

        self.assert_one("core may not include sim")

    def test_reads_folders_inside_folders(self):
        self.write("src/rubato/base/deep/a.cc", '#  include "rubato/core/job.h"\n')

        self.assert_one("base may not include core")

    def test_applies_to_unit_tests(self):
        self.write("src/rubato/base/a_test.cc", '#include "rubato/core/job.h"\n')

        self.assert_one("base may not include core")

    def test_refuses_a_folder_that_is_not_listed(self):
        self.write("src/rubato/extra/a.cc", "")

        self.assert_one("src/rubato/extra: not listed")

    def test_refuses_code_outside_folders(self):
        self.write("src/rubato/a.cc", "")

        self.assert_one("code lives in a folder")

    def test_refuses_includes_not_written_from_src(self):
        self.write("src/rubato/core/job.cc", '#include "job.h"\n')

        self.assert_one("written from src/")

    def test_refuses_a_rule_that_points_down(self):
        self.write("tools/layers.txt", "base: core\ncore: base\n")

        self.assert_one("base names core")

    def test_refuses_an_include_cycle_inside_a_folder(self):
        self.write("src/rubato/core/a.h", '#include "rubato/core/b.h"\n')
        self.write("src/rubato/core/b.h", '#include "rubato/core/a.h"\n')

        self.assert_one("rubato/core/a.h -> rubato/core/b.h -> rubato/core/a.h")

    def write_rooms(self):
        rooms = "  .:\n  gang: .\n  *: . gang\n  fifo: gang .\n"
        self.write("tools/layers.txt", "base:\nplan: base\n" + rooms + "sim: base plan\n")

    def test_accepts_a_room_that_points_up(self):
        self.write_rooms()
        self.write("src/rubato/plan/fifo/a.cc", '#include "rubato/plan/gang/gang.h"\n')
        self.write("src/rubato/plan/new/a.cc", '#include "rubato/plan/gang/gang.h"\n')
        self.write("src/rubato/plan/gang/gang.cc", '#include "rubato/plan/view.h"\n')
        self.write("src/rubato/plan/gang/a_test.cc", '#include "rubato/plan/fifo/fifo.h"\n')
        self.write("src/rubato/sim/a.cc", '#include "rubato/plan/fifo/fifo.h"\n')

        self.assertEqual(self.problems(), [])

    def test_refuses_a_room_that_points_down_or_aside(self):
        self.write_rooms()
        for room, other in (("gang", "fifo"), ("gang", "new"), ("fifo", "new"), ("new", "fifo")):
            self.write(f"src/rubato/plan/{room}/a.cc", f'#include "rubato/plan/{other}/b.h"\n')

            self.assert_one(f"plan/{room} may not include plan/{other}")
            self.write(f"src/rubato/plan/{room}/a.cc", "")

    def test_refuses_a_folder_that_is_taken_away_from_a_room(self):
        rooms = "  client: -core\n  server: client\n"
        self.write("tools/layers.txt", "base:\ncore: base\ncli: base core\n" + rooms)
        self.write("src/rubato/cli/server/a.cc", '#include "rubato/core/job.h"\n')
        self.assertEqual(self.problems(), [])
        self.write("src/rubato/cli/client/a.cc", '#include "rubato/core/job.h"\n')

        self.assert_one("cli/client may not include core")

    def test_refuses_to_take_away_what_is_not_there(self):
        self.write("tools/layers.txt", "base:\ncore: base\ncli: base core\n  client: -croe\n")

        self.assert_one("cli/client excludes croe")

    def test_refuses_a_top_that_points_into_a_room_below(self):
        self.write_rooms()
        self.write("src/rubato/plan/view.h", '#include "rubato/plan/gang/gang.h"\n')

        self.assert_one("plan/. may not include plan/gang")

    def test_refuses_a_rule_of_rooms_that_points_down(self):
        for rows in ("  a: b\n  b:\n", "  *:\n  a: *\n"):
            self.write("tools/layers.txt", "base:\n" + rows)

            self.assert_one("tools/layers.txt: base/a names")

    def test_refuses_a_room_that_is_not_listed_if_no_line_is_for_the_rest(self):
        self.write("tools/layers.txt", "base:\n  .:\n  a: .\n")
        self.write("src/rubato/base/b/c.cc", "")

        self.assert_one("room b is not listed below base")

    def test_keeps_what_tests_share_in_tests(self):
        text = '#include "rubato/base/testing/scene.h"\n'
        self.write("src/rubato/base/a_test.cc", text)
        self.write("src/rubato/core/testing/b.h", text)
        self.assertEqual(self.problems(), [])

        self.write("src/rubato/base/a.cc", text)
        self.assert_one("only tests may include rubato/base/testing/scene.h")

    def test_keeps_third_party_headers_where_they_belong(self):
        self.write("src/rubato/sim/a.cc", "#include <nlohmann/json.hpp>\n#include <fmt/core.h>\n")
        self.assertEqual(self.problems(), [])

        self.write("src/rubato/core/a.cc", "#include <nlohmann/json.hpp>\n")
        self.assert_one("core may not use nlohmann")

    def test_refuses_a_third_party_library_that_is_not_listed(self):
        self.write("src/rubato/core/a.cc", "#include <boost/any.hpp>\n")

        self.assert_one("not in tools/third_party.txt")

    def test_keeps_test_libraries_in_tests(self):
        self.write("src/rubato/core/a_test.cc", "#include <gtest/gtest.h>\n")
        self.assertEqual(self.problems(), [])

        self.write("src/rubato/core/a.cc", "#include <rapidcheck.h>\n")
        self.assert_one("tests only")

    def test_keeps_the_build_in_step_with_the_rule(self):
        built = "rubato_library(base LINK fmt::fmt)\nrubato_library(core DEPS base\n LINK x::y)\n"
        self.write("CMakeLists.txt", built)
        self.assertEqual(self.problems(), [])

        self.write("CMakeLists.txt", built + "rubato_library(sim DEPS core)\n")
        self.assert_one("DEPS of sim should be 'base core', found 'core'")


class TidyTest(TreeTest):
    def assert_clean(self, name, text):
        self.write(name, text)
        self.assertEqual(check_tidy.check(self.root), [])

    def assert_one(self, name, text, expected):
        self.write(name, text)
        problems = check_tidy.check(self.root)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(expected, problems[0])

    def test_accepts_an_ordinary_header(self):
        self.assert_clean("src/rubato/core/a.h", HEADER + "\nint share();\n")

    def test_limits_the_line(self):
        self.assert_clean("src/rubato/core/a.cc", "// " + "ü" * 97 + "\n")
        self.assert_one("src/rubato/core/a.cc", "// " + "x" * 98 + "\n", "a.cc:1: 101 columns")

    def test_limits_the_header(self):
        self.assert_clean("src/rubato/core/a.h", HEADER + "int a;\n" * 248)
        self.assert_one("src/rubato/core/a.h", HEADER + "int a;\n" * 249, "251 lines")

    def test_limits_the_source(self):
        self.assert_clean("src/rubato/core/a.cc", "int a;\n" * 500)
        self.assert_one("src/rubato/core/a.cc", "int a;\n" * 501, "501 lines")

    def test_wants_a_comment_first_in_a_header(self):
        self.assert_one("src/rubato/core/a.h", "\n" + HEADER, "opens with a // comment")

    def test_wants_pragma_once(self):
        self.assert_one("src/rubato/core/a.h", "// A.\n", "no #pragma once")
        self.assert_one("src/rubato/core/a.h", "// A.\nint a;\n#pragma once\n", "should follow")

    def test_refuses_unfinished_work(self):
        for word in ("TO" "DO", "FIX" "ME"):
            self.assert_one("src/rubato/core/a.cc", f"// {word}: later\n", "unfinished")

    def test_refuses_folders_without_a_name(self):
        self.assert_one("src/rubato/core/utils/a.cc", "int a;\n", "name the folder")

    def test_refuses_paths_of_one_machine(self):
        for path in ("/ho" "me/someone/x", "/wo" "rk/x", "/ro" "ot/x"):
            self.assert_one("README.md", f"see `{path}`\n", "path of one machine")
        self.assert_clean("README.md", "an at-home/x, ~/home/x and $BASE/home/x, and/home/or\n")

    def test_refuses_shared_ownership_in_the_core(self):
        self.assert_clean("src/rubato/cli/a.cc", "std::shared_ptr<int> a;\n")
        self.assert_one("src/rubato/sim/a.cc", "std::shared_ptr<int> a;\n", "shared ownership")

    def test_refuses_clocks(self):
        self.assert_clean("src/rubato/core/a.cc", "// Has no Clock::now().\nauto t = view.now();\n")
        self.assert_clean("src/rubato/sim/a.cc", "auto t = std::chrono::steady_clock::now();\n")
        self.assert_one("src/rubato/core/a.cc", "auto t = Clock::now();\n", "no clocks")
        self.assert_one("src/rubato/core/a.cc", "auto t = time(nullptr);\n", "no clocks")

    def test_holds_the_controller_to_the_rules_of_the_engine(self):
        text = "auto t = Clock::now();\n"
        self.assert_clean("src/rubato/live/service/a.cc", text)
        self.assert_clean("src/rubato/live/controller/a_test.cc", text)
        self.assert_one("src/rubato/live/controller/a.cc", text, "no clocks")
        self.assert_one("src/rubato/live/controller/a.cc", "#include <fstream>\n", "no input")

    def test_refuses_threads_and_streams(self):
        self.assert_clean("src/rubato/sim/a.cc", "#include <thread>\n#include <fstream>\n")
        for name in ("fstream", "iostream"):
            self.assert_one("src/rubato/trace/a.cc", f"#include <{name}>\n", "no input or output")
        self.assert_one("src/rubato/trace/a.cc", "#include <thread>\n", "no threads")

    def test_lets_tests_read_files(self):
        self.assert_clean("src/rubato/trace/a_test.cc", "#include <fstream>\n")

    def test_refuses_library_distributions(self):
        text = "std::uniform_int_distribution<int> d;\n"
        self.assert_clean("src/rubato/sim/a_test.cc", text)
        for folder in ("core", "trace", "sim"):
            self.write(f"src/rubato/{folder}/a.cc", text)
        self.assertEqual(len(check_tidy.check(self.root)), 3)

    def test_ignores_comments_and_strings(self):
        text = '// shared_ptr\n/* a\nshared_ptr */\nauto s = "shared_ptr \\" shared_ptr";\n'
        self.assert_clean("src/rubato/core/a.cc", text)
        self.assert_clean("src/rubato/core/a.cc", "int a = 1'000;  // It's shared_ptr.\n")
        self.assert_one("src/rubato/core/a.cc", text + "shared_ptr\n", "a.cc:5:")

    def test_refuses_untidy_whitespace(self):
        self.assert_one("README.md", "no end", "no newline")
        self.assert_one("README.md", "two ends\n\n", "blank line at the end")
        self.assert_one("README.md", "a\tb\n", "tab")
        self.assert_one("README.md", "a \n", "trailing space")

    def test_refuses_two_types_of_one_name(self):
        self.write("src/rubato/core/a.h", HEADER + "namespace rubato {\nstruct Seat {\n};\n}\n")
        text = "namespace rubato {\n// A struct Seat {\nclass Seat final : public Base {\n};\n}\n"
        self.assert_one(
            "src/rubato/policy/b.cc", text, "b.cc:3: rubato::Seat is defined in src/rubato/core/a.h"
        )

    def write_hidden(self, name, lines):
        text = "namespace rubato {\nnamespace {\n\n" + lines + "\n}  // namespace\n}\n"
        self.write(name, text)

    def test_refuses_a_hidden_name_twice_in_a_folder(self):
        for lines in (
            "int share_of(const Job& job, int gpus) {\n  return 1;\n}\n",
            "constexpr Duration kSlot{20};\n",
            "constexpr std::array<int, 2> kSlots = {1, 2};\n",
            "struct Seat {\n  int a = 0;\n};\n",
            "template <typename Given>\nconcept Is = true;\n",
            "std::function<int(int)> make_it(\n    int a) {\n}\n",
        ):
            self.write_hidden("src/rubato/core/a.cc", lines)
            self.write_hidden("src/rubato/core/deep/b.cc", "// Another.\n" + lines)

            problems = check_tidy.check(self.root)

            self.assertEqual(len(problems), 1, (lines, problems))
            expected = r"core/deep/b\.cc:[56]: \w+ is in src/rubato/core/a\.cc:[45]"
            self.assertRegex(problems[0], expected)

    def test_refuses_a_hidden_name_with_two_meanings(self):
        self.write_hidden("src/rubato/core/a.cc", "using Seat = int;\n")
        for lines in ("using Seat = long;\n", "struct Seat {};\n", "int Seat(int a) {\n}\n"):
            self.write_hidden("src/rubato/core/b.cc", lines)

            self.assertEqual(len(check_tidy.check(self.root)), 1, lines)

    def test_accepts_hidden_names_that_can_be_joined(self):
        lines = "using Json = nlohmann::json;\nint share(const Job& job) { return 1; }\n"
        self.write_hidden("src/rubato/core/a.cc", lines)
        self.write_hidden("src/rubato/core/b.cc", lines.replace("Job& job", "Pool& pool"))
        for name in ("core/a_test.cc", "core/a_fuzz.cc", "core/torch/a.cc", "policy/a.cc"):
            self.write_hidden("src/rubato/" + name, lines)
        text = "namespace rubato::artifact {\nnamespace {\n" + lines + "}  // namespace\n}\n"
        self.write("src/rubato/core/c.cc", text)

        self.assertEqual(check_tidy.check(self.root), [])

    def test_wants_the_words_of_a_room_in_its_namespace(self):
        text = HEADER + "\nnamespace rubato::policy::fifo {\n}\n"
        self.assert_clean("src/rubato/policy/fifo/a.h", text)
        self.assert_clean("src/rubato/policy/testing/a.h", text)
        self.assert_clean("src/rubato/policy/a.h", text.replace("::policy::fifo", ""))
        expected = "a.h:4: namespace rubato::policy::fifo should be rubato::policy::srtf"
        self.assert_one("src/rubato/policy/srtf/a.h", text, expected)

    def test_takes_no_words_of_a_body_for_hidden_names(self):
        text = 'constexpr auto kText = R"js(\nint share(int b) {}\n)js";\n'
        self.write_hidden("src/rubato/core/a.cc", "int a() {\n  int share = 0;\n}\n" + text)
        lines = "TEST(Share, IsFair) {\n}\nvoid Share::grow(int a) {\n}\nbool operator==(int c);\n"
        self.write_hidden("src/rubato/core/b.cc", lines + "int share(int b) {\n}\n")
        self.write_hidden("src/rubato/core/c.cc", lines)

        self.assertEqual(check_tidy.check(self.root), [])

    def test_refuses_a_second_type_behind_an_unnamed_namespace(self):
        self.write("src/rubato/core/a.cc", "namespace rubato {\nenum class Seat : char {};\n}\n")
        text = "namespace rubato {\nnamespace {\nint f() { return 0; }\n}\nstruct Seat {};\n}\n"
        self.assert_one("src/rubato/core/b.cc", text, "b.cc:5: rubato::Seat is defined in")

    def test_lets_hidden_types_share_a_name(self):
        self.write("src/rubato/core/a.h", HEADER + "namespace rubato {\nstruct Seat {\n};\n}\n")
        hidden = (
            "namespace {\nstruct Seat {};\n}\n",
            "struct Row {\n  struct Seat {\n  };\n};\n",
            "namespace deep {\nstruct Seat {};\n}\n",
            "void f() {\n  struct Seat {};\n}\n",
            "struct Seat;\ntemplate <class Seat> void g(struct Seat& seat) {}\n",
        )
        for text in hidden:
            with self.subTest(text):
                self.assert_clean("src/rubato/core/b.cc", "namespace rubato {\n" + text + "}\n")

    def test_leaves_data_and_builds_alone(self):
        self.assert_clean("tests/corpus/philly/a.json", "\t")
        self.assert_clean("build-asan/a.h", "\t")


class GrowthTest(unittest.TestCase):
    @staticmethod
    def row(name, time, **more):
        return {"name": name, "cpu_time": time, "real_time": 0.5, "time_unit": "us", **more}

    def test_reads_subject_and_sizes(self):
        name = "Decision/elasticflow/jobs:10/gpus:64/min_time:0.100/real_time"

        self.assertEqual(
            bench_growth.parse_name(name), ("Decision/elasticflow", {"jobs": 10, "gpus": 64})
        )

    def test_fits_each_size_with_the_others_fixed(self):
        rows = [
            self.row(f"D/afs/jobs:{jobs}/gpus:{gpus}", 3.0 * jobs**2 * gpus)
            for jobs in (10, 100, 1000)
            for gpus in (8, 64)
        ]

        found = bench_growth.growth({"benchmarks": rows})

        slopes = {(key, fixed): round(slope, 6) for _, key, fixed, _, slope, _ in found}
        self.assertEqual(slopes["jobs", (("gpus", 8),)], 2.0)
        self.assertEqual(slopes["gpus", (("jobs", 1000),)], 1.0)
        self.assertEqual(len(found), 5)

    def test_prefers_the_median_of_repeated_runs(self):
        name = "D/jobs:1"
        rows = [self.row(name, time, run_name=name) for time in (1.0, 1.0, 100.0)]
        rows.append(
            self.row(
                name + "_median", 1.0, run_name=name, run_type="aggregate", aggregate_name="median"
            )
        )

        self.assertEqual(bench_growth.times({"benchmarks": rows}), {name: 1000.0})

    def test_has_nothing_to_say_about_one_size(self):
        self.assertEqual(bench_growth.growth({"benchmarks": [self.row("D/jobs:1", 1.0)]}), [])

    def test_compares_with_the_baseline_at_the_same_sizes(self):
        rows = [
            self.row("D/fifo/jobs:1", 2.0),
            self.row("D/afs/jobs:1", 6.0),
            self.row("D/afs/jobs:9", 1.0),
        ]

        found = bench_growth.ratios({"benchmarks": rows})

        self.assertEqual(found, [("D/afs", (("jobs", 1),), 6000.0, 3.0)])

    def test_names_the_benchmarks_that_crossed_a_limit(self):
        row = self.row("D/jobs:1", 1.0, error_occurred=True, error_message="too slow")

        self.assertEqual(bench_growth.errors({"benchmarks": [row]}), ["D/jobs:1: too slow"])


if __name__ == "__main__":
    unittest.main()
