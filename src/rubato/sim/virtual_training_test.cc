#include "rubato/sim/virtual_training.h"

#include <gtest/gtest.h>

#include "rubato/sim/small_profile_test.h"

namespace rubato {
namespace {

using std::chrono::seconds;

/// Two nodes of four GPUs and jobs that make one step per second and GPU.
struct Hall {
  explicit Hall(double noise = 0, std::uint64_t seed = 1)
      : topology(Topology::parse("2x4").value()),
        speeds(rows(), topology),
        training(topology, 3, noise, /*straggler_speed=*/0.5, Random(seed)) {
    for (std::uint64_t id = 0; id < 3; ++id) {
      Job job;
      job.id = JobId{id};
      job.model = "linear";
      job.batch = 1;
      job.work = 100;
      jobs.push_back(job);
      training.arrive(job, speeds.resolve(job));
    }
  }

  static std::vector<SpeedRow> rows() {
    std::vector<SpeedRow> rows;
    for (int gpus = 1; gpus <= 8; gpus *= 2) {
      rows.push_back(SpeedRow{.model = "linear", .batch = 1, .gpus = gpus, .speed = 1.0 * gpus});
    }
    return rows;
  }

  void run(double now, std::uint64_t id, GpuRange gpus, double pause = 0) {
    training.run(
        at_seconds(now),
        Run{.job = JobId{id}, .placement = {.ranges = {gpus}}, .pause = from_seconds(pause)},
        speeds);
  }
  [[nodiscard]] double finish(std::uint64_t id) const {
    return to_seconds(training.next(JobId{id}, speeds).at);
  }

  Topology topology;
  SpeedBook speeds;
  VirtualTraining training;
  std::vector<Job> jobs;
};

TEST(VirtualTraining, AdvancesAfterThePauseAtTheSpeedOfTheBook) {
  Hall hall;

  hall.run(10, 0, {.first = 0, .count = 4}, 3);

  EXPECT_EQ(hall.finish(0), 10 + 3 + 25);
  EXPECT_EQ(hall.training.of(JobId{0}).progress.at(at_seconds(14)), 4);
}

TEST(VirtualTraining, AddsAPauseToWhatIsLeftOfTheLastOne) {
  Hall hall;
  hall.run(0, 0, {.first = 0, .count = 4}, 5);

  hall.run(2, 0, {.first = 0, .count = 2}, 4);

  EXPECT_EQ(hall.finish(0), 5 + 4 + 50);
}

TEST(VirtualTraining, StallsWithoutChangingTheSpeed) {
  Hall hall;
  hall.run(0, 0, {.first = 0, .count = 4});

  hall.training.stall(at_seconds(10), Stall{.job = JobId{0}, .pause = seconds{7}});

  EXPECT_EQ(hall.finish(0), 25 + 7);
}

TEST(VirtualTraining, KeepsWhatIsDoneWhileSuspendedAndForgetsThePause) {
  Hall hall;
  hall.run(0, 0, {.first = 0, .count = 4});
  hall.training.stall(at_seconds(10), Stall{.job = JobId{0}, .pause = seconds{100}});
  hall.training.suspend(at_seconds(11), JobId{0});

  EXPECT_EQ(hall.training.next(JobId{0}, hall.speeds).at, kNever);
  hall.run(20, 0, {.first = 0, .count = 4});

  EXPECT_EQ(hall.finish(0), 20 + 15);
}

TEST(VirtualTraining, SlowsTheJobsOnASlowNodeUntilTheSpellEnds) {
  Hall hall;
  hall.run(0, 0, {.first = 0, .count = 4});  // Node 0.
  hall.run(0, 1, {.first = 4, .count = 4});  // Node 1.

  const auto slowed = hall.training.set_slow(at_seconds(5), NodeId{1}, true, hall.speeds);
  EXPECT_EQ(slowed, (std::vector<JobId>{JobId{1}}));
  EXPECT_EQ(hall.finish(0), 25);
  EXPECT_EQ(hall.finish(1), 5 + 40);
  hall.training.set_slow(at_seconds(15), NodeId{1}, false, hall.speeds);

  EXPECT_EQ(hall.finish(1), 15 + 15);
}

TEST(VirtualTraining, SlowsAJobThatMovesToASlowNode) {
  Hall hall;
  hall.training.set_slow(at_seconds(0), NodeId{1}, true, hall.speeds);

  hall.run(0, 0, {.first = 2, .count = 4});  // Two GPUs on each node.

  EXPECT_EQ(hall.finish(0), 50);
}

TEST(VirtualTraining, FindsTheJobsOnANode) {
  Hall hall;
  hall.run(0, 0, {.first = 2, .count = 4});
  hall.run(0, 1, {.first = 6, .count = 2});

  EXPECT_EQ(hall.training.on_node(NodeId{0}), (std::vector<JobId>{JobId{0}}));
  EXPECT_EQ(hall.training.on_node(NodeId{1}), (std::vector<JobId>{JobId{0}, JobId{1}}));
  hall.training.suspend(at_seconds(1), JobId{0});
  EXPECT_TRUE(hall.training.on_node(NodeId{0}).empty());
}

TEST(VirtualTraining, DrawsTheLuckOfAJobFromTheSeedAlone) {
  Hall hall(0.2, 5);
  Hall twin(0.2, 5);
  const Hall other(0.2, 6);

  EXPECT_NE(hall.training.of(JobId{0}).noise, hall.training.of(JobId{1}).noise);
  EXPECT_EQ(hall.training.of(JobId{2}).noise, twin.training.of(JobId{2}).noise);
  EXPECT_NE(hall.training.of(JobId{2}).noise, other.training.of(JobId{2}).noise);
  hall.run(0, 0, {.first = 0, .count = 4});
  EXPECT_EQ(hall.training.of(JobId{0}).progress.speed, 4 * hall.training.of(JobId{0}).noise);
}

TEST(VirtualTraining, EndsAtOnceWithoutAProfile) {
  Hall hall;
  hall.run(0, 0, {.first = 0, .count = 4});

  EXPECT_TRUE(hall.training.next(JobId{0}, hall.speeds).is_end);
  EXPECT_FALSE(hall.training.observe(JobId{0}, hall.speeds).has_value());
}

/// A job of a small application, at batch 10, on one node.
struct ProfiledHall {
  explicit ProfiledHall(double noise = 0)
      : topology(Topology::parse("1x4").value()),
        speeds(small_profile().speed_rows("net", 10), topology),
        training(topology, 1, noise, /*straggler_speed=*/0.5, Random(1)) {
    speeds.add("net", "", small_profile());
    Job job{.model = "net", .batch = 10};
    job.work = small_profile().steps(10);
    training.arrive(job, speeds.resolve(job));
  }

  void run(double now, int gpus, BatchSplit split = {}, double pause = 0) {
    training.run(
        at_seconds(now),
        Run{.placement = {.ranges = {{0, gpus}}}, .pause = from_seconds(pause), .split = split},
        speeds);
  }
  [[nodiscard]] VirtualTraining::Milestone next() const { return training.next(JobId{0}, speeds); }

  Topology topology;
  SpeedBook speeds;
  VirtualTraining training;
};

TEST(VirtualTraining, OfAProfiledJobGoesEpochByEpoch) {
  ProfiledHall hall;
  hall.run(0, 1, {}, 30);

  EXPECT_EQ(hall.next().at, at_seconds(30 + 100));
  EXPECT_FALSE(hall.next().is_end);
  hall.training.end_epoch(at_seconds(130), JobId{0}, hall.speeds);

  EXPECT_EQ(hall.next().at, at_seconds(130 + 190));
  EXPECT_TRUE(hall.next().is_end);
}

TEST(VirtualTraining, OfAnotherBatchChangesItsSpeedWithTheEpoch) {
  // Two workers with 20 samples each: a step in 2 s, worth 2.5 steps, then 3.25.
  ProfiledHall hall;
  hall.run(0, 2, {.local = 20});
  // Batch 10 is worth one step at each epoch, whatever its noise.
  EXPECT_DOUBLE_EQ(hall.training.of(JobId{0}).progress.speed, 2.5 / 2);
  EXPECT_EQ(hall.next().at, at_seconds(80));

  hall.training.end_epoch(at_seconds(80), JobId{0}, hall.speeds);

  EXPECT_DOUBLE_EQ(hall.training.of(JobId{0}).progress.speed, 3.25 / 2);
  EXPECT_DOUBLE_EQ(hall.training.of(JobId{0}).progress.done, 100);
  EXPECT_NEAR(to_seconds(hall.next().at), 80 + 190 / 1.625, 1e-5);
}

TEST(VirtualTraining, RebatchChangesTheSpeedAndKeepsWhatIsDone) {
  ProfiledHall hall;
  hall.run(0, 1, {.local = 10});
  EXPECT_EQ(hall.next().at, at_seconds(100));

  // Four passes of ten: 4 s a step, worth 2.5.
  hall.training.rebatch(at_seconds(50), {.split = {.local = 10, .accumulation = 3}}, hall.speeds);

  EXPECT_DOUBLE_EQ(hall.training.of(JobId{0}).progress.done, 50);
  EXPECT_DOUBLE_EQ(hall.training.of(JobId{0}).progress.speed, 2.5 / 4);
  EXPECT_EQ(hall.next().at, at_seconds(50 + 80));
}

TEST(VirtualTraining, EndsEpochsAtWholeSecondsIfAskedTo) {
  ProfiledHall hall;
  hall.training.count_whole_seconds();
  hall.run(0.25, 1);
  EXPECT_EQ(hall.next().at, at_seconds(100));

  hall.training.end_epoch(at_seconds(100), JobId{0}, hall.speeds);

  EXPECT_DOUBLE_EQ(hall.training.of(JobId{0}).progress.done, 100);
  EXPECT_EQ(hall.next().at, at_seconds(290));
  hall.run(100.5, 1);  // At 0.5 steps into the epoch.
  EXPECT_EQ(hall.next().at, at_seconds(290));
}

TEST(VirtualTraining, AWholeSecondIsNeverInThePast) {
  ProfiledHall hall;
  hall.training.count_whole_seconds();
  hall.run(0, 1);
  hall.run(100.25, 1);  // The epoch was to end at 100 s.

  EXPECT_EQ(hall.next().at, at_seconds(100.25));
}

TEST(VirtualTraining, ObservesTheStepsOfAnAdaptiveJob) {
  ProfiledHall hall;
  EXPECT_FALSE(hall.training.observe(JobId{0}, hall.speeds).has_value());
  hall.run(0, 2, {.local = 20});

  const auto step = hall.training.observe(JobId{0}, hall.speeds);

  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->nodes, 1);
  EXPECT_EQ(step->workers, 2);
  EXPECT_EQ(step->local_batch, 20);
  EXPECT_DOUBLE_EQ(step->pass_seconds, 1.5);
  EXPECT_DOUBLE_EQ(step->step_seconds, 2);
  EXPECT_EQ(step->gradient_squared, 1);
  EXPECT_EQ(step->gradient_variance, 4);
  hall.training.end_epoch(at_seconds(80), JobId{0}, hall.speeds);
  EXPECT_EQ(hall.training.observe(JobId{0}, hall.speeds)->gradient_variance, 12);
  hall.run(90, 2);
  EXPECT_FALSE(hall.training.observe(JobId{0}, hall.speeds).has_value());  // Its own batch.
}

TEST(VirtualTraining, ObservesNothingWithoutRecordedTrainings) {
  const Topology topology = Topology::parse("1x4").value();
  const ApplicationProfile bare(
      std::vector{
          StepTime{.nodes = 1, .gpus = 1, .pattern = {1}, .local_batch = 8, .step_seconds = 1}},
      {});
  SpeedBook speeds(bare.speed_rows("bare", 8), topology);
  speeds.add("bare", "", bare);
  VirtualTraining training(topology, 1, 0, 1, Random(1));
  const Job job{.work = 10, .model = "bare", .batch = 8};
  training.arrive(job, speeds.resolve(job));

  training.run(at_seconds(0), {.placement = {.ranges = {{0, 1}}}, .split = {.local = 8}}, speeds);

  EXPECT_FALSE(training.observe(JobId{0}, speeds).has_value());
  EXPECT_EQ(training.next(JobId{0}, speeds).at, at_seconds(10));
}

TEST(VirtualTraining, ObservesTheLuckOfAJob) {
  ProfiledHall hall(0.2);
  hall.run(0, 1, {.local = 10});
  const double noise = hall.training.of(JobId{0}).noise;

  EXPECT_NE(noise, 1);
  EXPECT_DOUBLE_EQ(hall.training.observe(JobId{0}, hall.speeds)->step_seconds, 1 / noise);
  EXPECT_DOUBLE_EQ(hall.training.of(JobId{0}).progress.speed, noise);
}

}  // namespace
}  // namespace rubato
