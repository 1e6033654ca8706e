#include "rubato/trace/read/finish_trace.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

std::vector<Job> three_jobs() {
  return {{.name = "late", .arrival = at_seconds(9), .deadline = at_seconds(20)},
          {.name = "first", .arrival = at_seconds(5)},
          {.name = "second", .arrival = at_seconds(5)}};
}

TEST(FinishTrace, SortsByArrivalThenFileOrderAndRenumbers) {
  std::vector<Job> jobs = three_jobs();

  finish_trace(jobs);

  EXPECT_EQ(jobs[0].name, "first");
  EXPECT_EQ(jobs[1].name, "second");
  EXPECT_EQ(jobs[2].name, "late");
  EXPECT_EQ(jobs[2].id, JobId{2});
  EXPECT_EQ(jobs[0].arrival, at_seconds(5)) << "times stay as they are";
}

TEST(FinishTrace, MovesAllTimesTogetherIfAsked) {
  std::vector<Job> jobs = three_jobs();

  finish_trace(jobs, {.starts_at_zero = true});

  EXPECT_EQ(jobs[0].arrival, at_seconds(0));
  EXPECT_EQ(jobs[0].deadline, kNever);
  EXPECT_EQ(jobs[2].arrival, at_seconds(4));
  EXPECT_EQ(jobs[2].deadline, at_seconds(15));
}

TEST(FinishTrace, AnEmptyTraceStaysEmpty) {
  std::vector<Job> jobs;

  finish_trace(jobs, {.starts_at_zero = true});

  EXPECT_TRUE(jobs.empty());
}

}  // namespace
}  // namespace rubato
