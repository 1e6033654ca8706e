#include "rubato/cli/trace/trace_verbs.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rubato/cli/process/exit_code.h"
#include "rubato/cli/trace/trace_convert.h"
#include "rubato/cli/trace/trace_generate.h"
#include "rubato/cli/trace/trace_lint.h"

namespace rubato {
namespace {

using testing::HasSubstr;

// An empty directory of its own for each test, removed afterwards.
class TraceVerbs : public testing::Test {
 protected:
  TraceVerbs() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("rubato-" + std::string(test->name()) + "-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~TraceVerbs() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  [[nodiscard]] std::string text_of(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(TraceVerbs, LintPrintsFindingsAndFailsOnErrors) {
  std::ostringstream out;
  std::ostringstream error;

  const int code = run_trace_lint(
      {.path = "tests/corpus/elasticflow/long_header.csv", .cluster_gpus = 1}, out, error);

  EXPECT_EQ(code, kExitBadInput);
  EXPECT_EQ(out.str(),
            "tests/corpus/elasticflow/long_header.csv:3: requested: asks for 2 GPUs, the cluster "
            "has 1; only elastic policies can run it; give --cluster a larger size or drop the job "
            "[error]\n"
            "tests/corpus/elasticflow/long_header.csv: 2 jobs, 1 errors, 0 warnings\n");
}

TEST_F(TraceVerbs, LintSpeaksJson) {
  std::ostringstream out;
  std::ostringstream error;

  const int code = run_trace_lint(
      {.path = "tests/corpus/elasticflow/short_header.csv", .is_json = true}, out, error);

  EXPECT_EQ(code, 0);
  const auto report = nlohmann::json::parse(out.str());
  EXPECT_EQ(report["jobs"], 2);
  EXPECT_EQ(report["errors"], 0);
  EXPECT_EQ(report["warnings"], 1);
  EXPECT_EQ(report["problems"][0]["line"], 3);
  EXPECT_EQ(report["problems"][0]["field"], "arrival");
  EXPECT_EQ(report["problems"][0]["severity"], "warning");
}

TEST_F(TraceVerbs, LintOfAMissingFileIsBadInput) {
  std::ostringstream out;
  std::ostringstream error;

  EXPECT_EQ(run_trace_lint({.path = path("none.csv")}, out, error), kExitBadInput);
  EXPECT_THAT(error.str(), HasSubstr("cannot be opened"));
}

TEST_F(TraceVerbs, ConvertThereAndBackKeepsTheJobs) {
  std::ostringstream error;
  const std::string source = "tests/corpus/elasticflow/short_header.csv";

  EXPECT_EQ(run_trace_convert({.path = source, .output = path("a.jsonl"), .sorts = true}, error),
            0);
  EXPECT_EQ(
      run_trace_convert(
          {.path = path("a.jsonl"), .target = TraceTarget::ElasticFlow, .output = path("b.csv")},
          error),
      0);

  EXPECT_EQ(text_of("b.csv"),
            "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration,best_effort\n"
            "1,3,1,m,6,32,1,3,1\n"
            "0,5,1000,m,500,32,4,300,0\n");
  EXPECT_EQ(files(), 2) << "no temporary file stays";
}

TEST_F(TraceVerbs, ConvertCanStartTheClockAtZero) {
  std::ostringstream error;

  EXPECT_EQ(run_trace_convert({.path = "tests/corpus/elasticflow/short_header.csv",
                               .target = TraceTarget::ElasticFlow,
                               .output = path("zero.csv"),
                               .starts_at_zero = true},
                              error),
            0);

  EXPECT_THAT(text_of("zero.csv"), HasSubstr("\n1,0,1,m,3,32,1,3,1\n0,2,1000,m,497,"));
}

TEST_F(TraceVerbs, AFailedConvertLeavesTheOldFileAsItWas) {
  std::ostringstream error;
  std::ofstream(path("out.jsonl")) << "old";

  const int code = run_trace_convert(
      {.path = "tests/corpus/elasticflow/bad_rows.csv", .output = path("out.jsonl")}, error);

  EXPECT_EQ(code, kExitBadInput);
  EXPECT_EQ(text_of("out.jsonl"), "old");
  EXPECT_EQ(files(), 1);
  EXPECT_THAT(error.str(), HasSubstr("nothing written"));
}

TEST_F(TraceVerbs, ConvertSaysWhatItLeavesOut) {
  std::ostringstream error;

  EXPECT_EQ(run_trace_convert({.path = "tests/corpus/helios/two.csv",
                               .target = TraceTarget::ElasticFlow,
                               .output = path("h.csv")},
                              error),
            0);

  EXPECT_THAT(error.str(), HasSubstr("1 jobs say more than ElasticFlow CSV can hold"));
}

TEST_F(TraceVerbs, GeneratePrintsItsSeedAndWritesAReadableTrace) {
  std::ostringstream out;
  std::ostringstream error;

  EXPECT_EQ(
      run_trace_generate({.options = {.jobs = 50, .seed = 7}, .output = path("made.jsonl")}, error),
      0);

  EXPECT_THAT(error.str(), HasSubstr("seed 7: 50 jobs"));
  EXPECT_EQ(run_trace_lint({.path = path("made.jsonl"), .cluster_gpus = 128}, out, error), 0);
  EXPECT_THAT(out.str(), HasSubstr(": 50 jobs, 0 errors, 0 warnings\n"));
}

// The exit code of a command line; 64 stands for what the parser itself refuses.
int run(const std::string& line) {
  CLI::App app;
  int exit_code = -1;
  add_trace_verbs(app, exit_code);
  try {
    app.parse(line, /*program_name_included=*/false);
  } catch (const CLI::ParseError&) {
    return kExitUsage;
  }
  return exit_code;
}

TEST_F(TraceVerbs, AreReachedThroughTheCommandLine) {
  EXPECT_EQ(run("trace generate --jobs 5 --seed 3 --cluster 2x4 --load 0.5 --arrivals bursty "
                "--profile philly --best-effort 0.2 --soft 0.1 -o " +
                path("g.jsonl")),
            0);
  EXPECT_EQ(run("trace convert " + path("g.jsonl") + " --to elasticflow -o " + path("g.csv")), 0);
  EXPECT_EQ(run("trace lint " + path("g.csv") + " --format elasticflow --cluster 8"), 0);
  EXPECT_EQ(run("trace lint " + path("none")), kExitBadInput);
}

TEST_F(TraceVerbs, RefuseWrongUsage) {
  EXPECT_EQ(run("trace"), kExitUsage);
  EXPECT_EQ(run("trace lint"), kExitUsage);
  EXPECT_EQ(run("trace lint x --format philyl"), kExitUsage);
  EXPECT_EQ(run("trace lint x --cluster 0"), kExitUsage);
  EXPECT_EQ(run("trace convert x --to swf"), kExitUsage);
  EXPECT_EQ(run("trace generate --load 0 -o " + path("g")), kExitUsage);
  EXPECT_EQ(run("trace generate --arrivals sometimes -o " + path("g")), kExitUsage);
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace rubato
