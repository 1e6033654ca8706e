#include "rubato/trace/lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> lint(const std::vector<Job>& jobs, LintOptions options = {}) {
  std::vector<std::string> texts;
  options.file = "t.csv";
  Linter linter(options, [&](Diagnostic&& found) {
    texts.push_back(to_string(found) + " [" + std::string(to_string(found.severity)) + "]");
  });
  std::uint64_t line = 1;
  for (const Job& job : jobs) {
    linter.see(job, ++line);
  }
  linter.finish();
  return texts;
}

Job job_at(double arrival, const std::string& name) {
  return {.name = name,
          .arrival = at_seconds(arrival),
          .deadline = at_seconds(arrival + 100),
          .model = "bert",
          .requested = 2,
          .duration = std::chrono::seconds(61)};
}

TEST(Lint, ASoundTraceIsSilent) {
  EXPECT_THAT(lint({job_at(0, "a"), job_at(0, "b"), job_at(5, "c")},
                   {.cluster_gpus = 2, .models = {"bert"}}),
              IsEmpty());
}

TEST(Lint, FindsNamesUsedTwice) {
  EXPECT_THAT(lint({job_at(0, "a"), job_at(1, "a")}),
              ElementsAre("t.csv:3: name: 'a' is used by an earlier job; give every job a name of "
                          "its own [error]"));
}

TEST(Lint, FindsJobsWiderThanTheCluster) {
  EXPECT_THAT(lint({job_at(0, "a")}, {.cluster_gpus = 1}),
              ElementsAre("t.csv:2: requested: asks for 2 GPUs, the cluster has 1; only elastic "
                          "policies can run it; give --cluster a larger size or drop the job "
                          "[error]"));
}

TEST(Lint, FindsRowsOutOfOrder) {
  EXPECT_THAT(lint({job_at(9, "a"), job_at(5, "b")}),
              ElementsAre("t.csv:3: arrival: 5 is before the row above, 9; `rubato trace convert "
                          "--sort` puts the rows in order [warning]"));
}

TEST(Lint, FindsDeadlinesThatCannotBeMet) {
  Job late = job_at(50, "a");
  late.deadline = at_seconds(50);
  Job missing = job_at(60, "b");
  missing.deadline = kNever;

  EXPECT_THAT(lint({late, missing}),
              ElementsAre("t.csv:2: deadline: 50 is not after the arrival, 50; deadlines are "
                          "absolute: add the arrival if they are meant to be relative [error]",
                          "t.csv:3: deadline: missing, but the class is slo; set a deadline, or "
                          "the class best_effort [error]"));
}

TEST(Lint, FindsJobsWithNothingToDo) {
  Job empty = job_at(0, "a");
  empty.model = "";
  empty.duration = Duration{0};
  Job described = empty;
  described.name = "b";
  described.model = "bert";

  EXPECT_THAT(lint({empty, described}),
              ElementsAre("t.csv:2: duration: zero, and there is no work either; the job will end "
                          "as soon as it starts: drop the row if it never ran [warning]"));
}

TEST(Lint, FindsUnknownModels) {
  EXPECT_THAT(lint({job_at(0, "a")}, {.models = {"brt", "vgg16"}}),
              ElementsAre("t.csv:2: model: no speed is known for 'bert'; did you mean 'brt'? "
                          "[warning]"));
}

TEST(Lint, SuspectsMilliseconds) {
  std::vector<Job> jobs;
  for (int i = 0; i < 20; ++i) {
    jobs.push_back(job_at(i, std::to_string(i)));
    jobs.back().duration = std::chrono::seconds(1000 * (i + 1));
  }

  EXPECT_THAT(lint(jobs), ElementsAre("t.csv: duration: every one is a multiple of 1000; if these "
                                      "are milliseconds, divide by 1000 [warning]"));
}

TEST(Lint, SuspectsHoursAndVeryLongRuns) {
  std::vector<Job> jobs;
  for (int i = 0; i < 20; ++i) {
    jobs.push_back(job_at(i, std::to_string(i)));
    jobs.back().duration = std::chrono::seconds(i + 1);
  }
  EXPECT_THAT(lint(jobs), ElementsAre("t.csv: duration: the longest is 20 s; if these are hours, "
                                      "multiply by 3600 [warning]"));

  Job endless = job_at(0, "a");
  endless.duration = std::chrono::hours(24 * 200);
  EXPECT_THAT(lint({endless}),
              ElementsAre("t.csv:2: duration: 200 days; if these are milliseconds, "
                          "divide by 1000 [warning]"));
}

TEST(Lint, CountsWhatItDoesNotRepeat) {
  const std::vector<Job> jobs(25, job_at(0, "same"));

  const std::vector<std::string> found = lint(jobs);

  ASSERT_EQ(found.size(), kFindingsMax + 1);
  EXPECT_EQ(found.back(), "t.csv: name: the same for 14 more jobs [error]");
}

}  // namespace
}  // namespace rubato
