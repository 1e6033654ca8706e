#include "rubato/cli/simulate/isolated_runs.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/base/check.h"

namespace rubato {
namespace {

using Tell = std::function<void(std::size_t, std::size_t)>;

// What came of each run: its number of jobs, or why there is none.
struct Came {
  std::map<std::size_t, long> jobs{};
  std::map<std::size_t, std::string> failures{};
  std::size_t progress = 0;
};

Came came_of(IsolatedRuns runs) {
  Came came;
  runs.on_progress = [&](std::size_t, std::size_t, std::size_t) { ++came.progress; };
  runs.on_result = [&](std::size_t index, const Result<RunNumbers>& result) {
    if (result) {
      came.jobs[index] = result->summary.jobs;
    } else {
      came.failures[index] = result.error().message;
    }
  };
  run_isolated(runs);
  return came;
}

RunNumbers numbers_of(std::size_t index) {
  return {.summary = {.jobs = static_cast<long>(index) * 10}};
}

TEST(IsolatedRuns, BringBackTheNumbersOfEveryRun) {
  const Came came =
      came_of({.count = 7, .at_once = 3, .work = [](std::size_t index, const Tell& tell) {
                 tell(1, 2);
                 tell(2, 2);
                 return Result<RunNumbers>(numbers_of(index));
               }});

  EXPECT_EQ(came.jobs.size(), 7U);
  EXPECT_EQ(came.jobs.at(6), 60);
  EXPECT_EQ(came.progress, 14U);
  EXPECT_TRUE(came.failures.empty());
}

TEST(IsolatedRuns, ABugInOneRunLeavesTheOthersAlone) {
  const Came came = came_of({.count = 3, .at_once = 2, .work = [](std::size_t index, const Tell&) {
                               RUBATO_CHECK(index != 1);
                               return Result<RunNumbers>(numbers_of(index));
                             }});

  EXPECT_EQ(came.jobs.size(), 2U);
  EXPECT_THAT(came.failures.at(1), testing::HasSubstr("'index != 1' does not hold"));
}

TEST(IsolatedRuns, SaysHowARunEndedThatSaidNothing) {
  const Came came = came_of({.count = 2, .work = [](std::size_t index, const Tell&) {
                               if (index == 0) {
                                 _exit(7);
                               }
                               kill(getpid(), SIGKILL);
                               return Result<RunNumbers>(numbers_of(index));
                             }});

  EXPECT_EQ(came.failures.at(0), "ended with code 7");
  EXPECT_EQ(came.failures.at(1), "killed by signal 9");
}

TEST(IsolatedRuns, PassesErrorsOn) {
  const Came came = came_of({.count = 1, .work = [](std::size_t, const Tell&) {
                               return Result<RunNumbers>(bad_input(std::string(5000, 'x')));
                             }});

  EXPECT_EQ(came.failures.at(0).substr(0, 3), "xxx");
}

TEST(IsolatedRuns, KillsOneThatNeverEnds) {
  const Came came = came_of(
      {.count = 2, .at_once = 2, .limit_seconds = 0.01, .work = [](std::size_t index, const Tell&) {
         while (index == 0) {
           pause();
         }
         return Result<RunNumbers>(numbers_of(index));
       }});

  EXPECT_EQ(came.failures.at(0), "was stopped after 0.01 s");
  EXPECT_EQ(came.jobs.at(1), 10);
}

TEST(IsolatedRuns, OfNothingIsOverAtOnce) { EXPECT_EQ(came_of({}).progress, 0U); }

}  // namespace
}  // namespace rubato
