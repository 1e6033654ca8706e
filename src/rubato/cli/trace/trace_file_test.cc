#include "rubato/cli/trace/trace_file.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(LoadTrace, SortsAndNumbersTheJobsOfAFile) {
  std::vector<Diagnostic> diagnostics;

  const auto jobs =
      load_trace("tests/corpus/elasticflow/short_header.csv", "elasticflow", diagnostics);

  ASSERT_TRUE(jobs.ok());
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ((*jobs)[0].name, "1");
  EXPECT_EQ((*jobs)[0].id, JobId{0});
  EXPECT_EQ((*jobs)[0].arrival, at_seconds(3));
  EXPECT_TRUE(diagnostics.empty());
}

TEST(LoadTrace, FailsOnAnUnusableRowAndSaysWhere) {
  std::vector<Diagnostic> diagnostics;

  const auto jobs = load_trace("tests/corpus/elasticflow/milliseconds.csv", "auto", diagnostics);

  ASSERT_FALSE(jobs.ok());
  EXPECT_EQ(jobs.error().code, ErrorCode::BadInput);
  EXPECT_EQ(diagnostics.size(), 2U);
  EXPECT_EQ(jobs.error().message,
            "tests/corpus/elasticflow/milliseconds.csv:2: submission_time: found '1700000000000', "
            "expected seconds up to 4000000000; it looks like milliseconds: divide by 1000 (and 1 "
            "more)");
}

TEST(LoadTrace, FailsOnAFileThatIsNotThere) {
  std::vector<Diagnostic> diagnostics;

  const auto jobs = load_trace("tests/corpus/none.csv", "auto", diagnostics);

  ASSERT_FALSE(jobs.ok());
  EXPECT_EQ(jobs.error().code, ErrorCode::Io);
  EXPECT_EQ(jobs.error().message,
            "tests/corpus/none.csv: cannot be opened: No such file or directory");
  EXPECT_EQ(load_trace("tests", "auto", diagnostics).error().message,
            "tests: cannot be read: Is a directory");
}

// The public data lies beside the repository on developers' machines only.
TEST(LoadTrace, ReadsThePublicTraces) {
  const std::filesystem::path data = "../shared/data";
  if (!std::filesystem::exists(data / "elasticflow/cluster01.csv")) {
    GTEST_SKIP() << "no public data beside the repository";
  }
  std::vector<Diagnostic> diagnostics;

  const auto released = load_trace(data / "elasticflow/cluster01.csv", "auto", diagnostics);
  const auto figure11 =
      load_trace(data / "elasticflow/200jobs_900lam_0.9.csv", "auto", diagnostics);
  const auto pollux = load_trace(data / "pollux/workloads/workload-1.csv", "auto", diagnostics);

  EXPECT_TRUE(diagnostics.empty());
  ASSERT_TRUE(released.ok() && figure11.ok() && pollux.ok());
  EXPECT_EQ(released->size(), 1595U);
  double gpu_hours = 0;
  for (const Job& job : *released) {
    gpu_hours += job.requested * to_seconds(job.duration) / 3600;
  }
  EXPECT_NEAR(gpu_hours, 22740, 1);
  EXPECT_EQ(figure11->size(), 200U);
  EXPECT_EQ(pollux->size(), 160U);
}

}  // namespace
}  // namespace rubato
