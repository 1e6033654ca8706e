#include "rubato/metrics/fairness.h"

#include <vector>

#include <gtest/gtest.h>

#include "rubato/metrics/history_builder_test.h"

namespace rubato {
namespace {

std::vector<UseSample> active_jobs(int running, int waiting, int gpus) {
  return {{.at = at_seconds(0), .gpus_up = gpus, .running = running, .waiting = waiting}};
}

TEST(FinishTimeFairness, IsOneWhenAJobGetsExactlyItsShare) {
  // Two jobs want all 4 GPUs for 10 s; with half of the cluster each would take 20 s.
  JobRecord job = finished_job(1, 0, 20);
  job.requested = 4;
  const auto samples = active_jobs(1, 1, 4);

  EXPECT_DOUBLE_EQ(finish_time_fairness(job, UseIntegral(samples)), 1);
}

TEST(FinishTimeFairness, ExpectsNoMoreThanTheRequestedGpus) {
  // A quarter of 16 GPUs is more than the one GPU it can use: ideal is 10 s, it took 30 s.
  const auto samples = active_jobs(4, 0, 16);

  EXPECT_DOUBLE_EQ(finish_time_fairness(finished_job(1, 0, 30), UseIntegral(samples)), 3);
}

TEST(FinishTimeFairness, CountsAtLeastTheJobItself) {
  const auto samples = active_jobs(0, 0, 1);

  EXPECT_DOUBLE_EQ(finish_time_fairness(finished_job(1, 0, 10), UseIntegral(samples)), 1);
}

TEST(FinishTimeFairness, IsZeroWhereNothingCanBeSaid) {
  const auto samples = active_jobs(1, 0, 4);
  const auto none = active_jobs(1, 0, 0);
  JobRecord unknown = finished_job(1, 0, 10);
  unknown.requested_seconds = 0;

  EXPECT_EQ(finish_time_fairness(job_record(1, 0), UseIntegral(samples)), 0);
  EXPECT_EQ(finish_time_fairness(unknown, UseIntegral(samples)), 0);
  EXPECT_EQ(finish_time_fairness(finished_job(1, 0, 10), UseIntegral(none)), 0);
  EXPECT_EQ(finish_time_fairness(finished_job(1, 5, 5), UseIntegral(samples)), 0);
}

}  // namespace
}  // namespace rubato
