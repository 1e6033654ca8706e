#include "rubato/sim/virtual_training.h"

#include <gtest/gtest.h>

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
    return to_seconds(training.finish(jobs[id]));
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

  EXPECT_EQ(hall.training.finish(hall.jobs[0]), kNever);
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

}  // namespace
}  // namespace rubato
