#include "rubato/metrics/summary.h"

#include <rapidcheck.h>

#include <gtest/gtest.h>

#include "rubato/metrics/columns.h"
#include "rubato/metrics/history_builder_test.h"

namespace rubato {
namespace {

// Five jobs: met, missed, refused, infeasible and unfinished, best effort.
History five_jobs() {
  History history{.start = at_seconds(0), .end = at_seconds(100), .decisions = 7, .rounds = 3};
  JobRecord met = finished_job(1, 0, 20);
  met.deadline = met.promised = at_seconds(20);
  met.requested = 3;
  met.value = 2;
  met.value_offered = 3;
  JobRecord missed = finished_job(2, 0, 40);
  missed.deadline = at_seconds(39);
  missed.job_class = JobClass::Soft;
  missed.resizes = 4;
  missed.migrations = 1;
  missed.restarts = 2;
  JobRecord refused = job_record(3, 5);
  refused.admitted = false;
  refused.refused = true;
  refused.deadline = at_seconds(50);
  JobRecord unfinished = job_record(4, 5);
  unfinished.deadline = unfinished.promised = at_seconds(8);
  unfinished.feasible_alone = false;
  JobRecord free = finished_job(5, 10, 90);
  free.job_class = JobClass::BestEffort;
  free.deadline = at_seconds(11);
  free.value = 0.5;
  history.jobs = {met, missed, refused, unfinished, free};
  history.use = {{.at = at_seconds(0), .gpus_used = 4, .gpus_up = 4, .speedup = 2, .running = 2},
                 {.at = at_seconds(50), .gpus_used = 1, .gpus_up = 4, .speedup = 1, .running = 1}};
  return history;
}

TEST(Summary, CountsJobsDeadlinesAndPromises) {
  const Summary summary = summarize(five_jobs());

  EXPECT_EQ(summary.jobs, 5);
  EXPECT_EQ(summary.admitted, 4);
  EXPECT_EQ(summary.refused, 1);
  EXPECT_EQ(summary.finished, 3);
  EXPECT_EQ(summary.deadline_jobs, 4);  // The best-effort job's deadline binds nobody.
  EXPECT_EQ(summary.deadline_met, 1);
  EXPECT_DOUBLE_EQ(summary.deadline_met_ratio, 0.25);
  EXPECT_DOUBLE_EQ(summary.deadline_upper_bound, 0.75);
  EXPECT_DOUBLE_EQ(summary.deadline_met_gpu_hours_ratio, 0.5);  // 3 of 3 + 1 + 1 + 1.
  EXPECT_EQ(summary.promises, 2);
  EXPECT_EQ(summary.promises_broken, 1);
  EXPECT_DOUBLE_EQ(summary.total_value, 2.5);
  EXPECT_EQ(summary.resizes, 4);
  EXPECT_EQ(summary.migrations, 1);
  EXPECT_EQ(summary.restarts, 2);
  EXPECT_DOUBLE_EQ(summary.value_offered, 3);
  EXPECT_EQ(summary.decisions, 7);
  EXPECT_EQ(summary.rounds, 3);
}

TEST(Summary, MeasuresTimesOfFinishedJobs) {
  const Summary summary = summarize(five_jobs());

  EXPECT_DOUBLE_EQ(summary.jct_avg_seconds, (20.0 + 40 + 80) / 3);
  EXPECT_DOUBLE_EQ(summary.jct_p50_seconds, 40);
  EXPECT_DOUBLE_EQ(summary.jct_p99_seconds, 80);
  EXPECT_DOUBLE_EQ(summary.best_effort_jct_avg_seconds, 80);
  EXPECT_DOUBLE_EQ(summary.slowdown_avg, (2.0 + 4 + 8) / 3);
  EXPECT_DOUBLE_EQ(summary.slowdown_p99, 8);
  EXPECT_DOUBLE_EQ(summary.makespan_seconds, 90);
}

TEST(Summary, MeasuresUseOverTheWholeRun) {
  const Summary summary = summarize(five_jobs());

  EXPECT_DOUBLE_EQ(summary.gpu_utilization, (4.0 + 1) / 8);
  EXPECT_DOUBLE_EQ(summary.cluster_efficiency, (0.5 + 0.25) / 2);
  // The best-effort job had a quarter of the cluster to itself and took 8 times its 10 s.
  EXPECT_DOUBLE_EQ(summary.finish_time_fairness_max, 8);
  EXPECT_DOUBLE_EQ(summary.finish_time_fairness_p99, 8);
  // Job 1 had 3 GPUs of its mean 2 jobs' 4: rho 20 / (10 * 3 * 2 / 4).
  EXPECT_DOUBLE_EQ(summary.finish_time_fairness_avg, (4.0 / 3 + 4 + 8) / 3);
}

TEST(Summary, CountsJobsThatNeverFinishAsTreatedUnfairly) {
  History history{.start = at_seconds(0), .end = at_seconds(100)};
  history.jobs = {finished_job(1, 0, 11), finished_job(2, 0, 12), job_record(3, 0),
                  job_record(4, 0)};
  history.jobs[2].refused = true;
  history.use = {{.at = at_seconds(0), .gpus_up = 4, .running = 2}};

  EXPECT_DOUBLE_EQ(summarize(history).fair_ratio, 0.25);
}

TEST(Summary, OfNothingMissesNothing) {
  const Summary summary = summarize(History{});

  EXPECT_EQ(summary, Summary{});
  EXPECT_EQ(summary.deadline_met_ratio, 1);
}

TEST(Summary, WeighsJobsAlikeWhenTheirSizeIsUnknown) {
  History history = five_jobs();
  for (JobRecord& job : history.jobs) {
    job.requested_seconds = 0;
  }

  EXPECT_DOUBLE_EQ(summarize(history).deadline_met_gpu_hours_ratio, 0.25);
}

TEST(Summary, ADeadlineIsMetAtItsVeryMoment) {
  History history;
  history.jobs = {finished_job(1, 0, 10)};
  history.jobs[0].deadline = at_seconds(10);

  EXPECT_EQ(summarize(history).deadline_met, 1);
}

History random_history() {
  History history{.start = at_seconds(0), .end = at_seconds(100)};
  const int jobs = *rc::gen::inRange(0, 20);
  for (int i = 0; i < jobs; ++i) {
    const int arrival = *rc::gen::inRange(0, 50);
    JobRecord job = job_record(static_cast<std::uint64_t>(i), arrival);
    job.job_class = static_cast<JobClass>(*rc::gen::inRange(0, 3));
    job.requested = *rc::gen::inRange(1, 9);
    if (*rc::gen::arbitrary<bool>()) {
      job.finish = at_seconds(arrival + *rc::gen::inRange(0, 50));
    }
    if (*rc::gen::arbitrary<bool>()) {
      job.deadline = at_seconds(arrival + *rc::gen::inRange(0, 50));
      job.feasible_alone = job.met_deadline() || *rc::gen::arbitrary<bool>();
    }
    history.jobs.push_back(job);
  }
  for (int at = 0; at < 90; at += *rc::gen::inRange(1, 30)) {
    const int used = *rc::gen::inRange(0, 9);
    history.use.push_back(
        {.at = at_seconds(at), .gpus_used = used, .gpus_up = 8, .speedup = 0.7 * used});
  }
  return history;
}

TEST(Summary, KeepsRatiosAndOrdersForEveryHistory) {
  EXPECT_TRUE(rc::check([] {
    const Summary summary = summarize(random_history());

    for (const SummaryColumn& column : summary_columns()) {
      RC_ASSERT(value_of(summary, column) >= 0);
      if (column.unit == Unit::Ratio) {
        RC_ASSERT(value_of(summary, column) <= 1);
      }
    }
    RC_ASSERT(summary.deadline_met_ratio <= summary.deadline_upper_bound);
    RC_ASSERT(summary.jct_p50_seconds <= summary.jct_p99_seconds);
    RC_ASSERT(summary.jct_p99_seconds <= summary.makespan_seconds);
    RC_ASSERT(summary.cluster_efficiency <= summary.gpu_utilization + 1e-12);
    RC_ASSERT(summary.promises_broken <= summary.promises);
  }));
}

}  // namespace
}  // namespace rubato
