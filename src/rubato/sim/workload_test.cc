#include "rubato/sim/workload.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

Topology one_node() { return Topology::parse("1x4").value(); }

// Speeds 1, 1.5, 2 on 1, 2, 4 GPUs.
SpeedBook book() {
  std::vector<SpeedRow> rows;
  for (const auto& [gpus, speed] : {std::pair(1, 1.0), {2, 1.5}, {4, 2.0}}) {
    rows.push_back(SpeedRow{.model = "known", .batch = 1, .gpus = gpus, .speed = speed});
  }
  return {std::move(rows), one_node()};
}

Job job_of(std::string_view model, double arrival) {
  Job job;
  job.name = model;
  job.model = model;
  job.batch = 1;
  job.arrival = at_seconds(arrival);
  return job;
}

TEST(Workload, NumbersJobsInOrderOfArrivalAndLeavesEqualOnesAsTheyCome) {
  SpeedBook speeds = book();
  Job first = job_of("known", 5);
  first.name = "first";
  Job second = job_of("known", 5);
  second.name = "second";

  const Workload workload = prepare({first, second, job_of("known", 1)}, speeds);

  EXPECT_EQ(workload.jobs[0].arrival, at_seconds(1));
  EXPECT_EQ(workload.jobs[1].name, "first");
  EXPECT_EQ(workload.jobs[2].name, "second");
  EXPECT_EQ(workload.jobs[2].id, JobId{2});
}

TEST(Workload, TurnsADurationIntoWorkAtTheRequestedCount) {
  SpeedBook speeds = book();
  Job job = job_of("known", 0);
  job.duration = std::chrono::seconds{100};
  job.requested = 2;

  EXPECT_EQ(prepare({job}, speeds).jobs[0].work, 150);
}

TEST(Workload, BelievesTheWorkOfAMeasuredJobButNotOfAnAssumedOne) {
  SpeedBook speeds = book();
  Job known = job_of("known", 0);
  Job unknown = job_of("unknown", 0);
  for (Job* job : {&known, &unknown}) {
    job->work = 7;
    job->duration = std::chrono::seconds{100};
  }

  const Workload workload = prepare({known, unknown}, speeds);

  EXPECT_EQ(workload.jobs[0].work, 7);
  EXPECT_EQ(workload.jobs[1].work, 100);  // Assumed curves make one step per second on one GPU.
}

TEST(Workload, SaysWhereSpeedsComeFrom) {
  SpeedBook speeds = book();

  const Workload workload =
      prepare({job_of("known", 0), job_of("unknown", 0), job_of("known", 1)}, speeds);

  EXPECT_EQ(workload.notes,
            (std::vector<std::string>{"known/1: measured at 1 2 4 GPUs (2 jobs)",
                                      "unknown/1: assumed at 1 2 4 GPUs (1 jobs)"}));
}

TEST(Alone, IsTheRunTimeAtThePeakAndAtTheRequestedCount) {
  SpeedBook speeds = book();
  Job job = job_of("known", 10);
  job.work = 30;
  job.requested = 2;
  job.deadline = at_seconds(25);

  const Alone result = alone(job, speeds.resolve(job), speeds, one_node());

  EXPECT_EQ(result.span, std::chrono::seconds{15});
  EXPECT_EQ(result.requested, std::chrono::seconds{20});
  EXPECT_TRUE(result.feasible(job));
  job.deadline -= Duration{1};
  EXPECT_FALSE(result.feasible(job));
}

TEST(Alone, IsNeverFeasibleForAJobThatCannotRun) {
  SpeedBook speeds = book();
  Job job = job_of("known", 10);
  job.work = 30;
  job.workers.min = 8;

  const Alone result = alone(job, speeds.resolve(job), speeds, one_node());

  EXPECT_EQ(result.span, kLongest);
  EXPECT_FALSE(result.feasible(job));
}

}  // namespace
}  // namespace rubato
