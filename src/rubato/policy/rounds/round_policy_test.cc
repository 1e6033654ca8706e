#include "rubato/policy/rounds/round_policy.h"

#include <gtest/gtest.h>

#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::rounds {
namespace {

/// Gives the oldest job one GPU; wants to be woken at a fixed moment.
class Probe final : public RoundPolicy {
 public:
  explicit Probe(Instant change = kNever) : change_(change) {}

  std::vector<JobId> left{};

 protected:
  void hold_round(const View& /*view*/, std::span<Seat> seats) override {
    if (!seats.empty()) {
      seats.front().workers = 1;
    }
  }
  void leaves(JobId job) override { left.push_back(job); }
  [[nodiscard]] Instant next_change(const View& view) const override {
    return view.now < change_ ? change_ : kNever;
  }

 private:
  Instant change_;
};

Result<std::unique_ptr<Policy>> probe() {
  return std::unique_ptr<Policy>(std::make_unique<Probe>());
}

/// One GPU and one admitted job, to be looked at directly.
struct Corner {
  Topology topology = Topology::parse("1x1").value();
  JobTable jobs{};
  SpeedBook speeds{linear_speeds(), topology};
  ResizeCost costs{ResizeCostModel::None, 1, Duration{}};
  Random random{1};
  std::vector<int> capacity{1};

  Corner() {
    JobState& job = jobs.insert(linear_job(1, 0, 1, 100));
    job.speed = speeds.resolve(job.job);
    job.admitted = true;
  }
  [[nodiscard]] View view(double now) {
    return View{.now = at_seconds(now),
                .topology = topology,
                .capacity = capacity,
                .jobs = jobs,
                .speeds = speeds,
                .costs = costs,
                .slot = from_seconds(5),
                .random = random};
  }
};

TEST(RoundPolicy, HoldsRoundsASlotApart) {
  Scene scene(probe, {.cluster = "1x1", .slot_seconds = 5});
  std::vector<double> rounds;
  scene.watch([&] { rounds.push_back(to_seconds(scene.view().now)); });
  scene.submit({linear_job(1, 0, 1, 7), linear_job(2, 1, 1, 9), linear_job(3, 2, 1, 1)});

  scene.run();

  EXPECT_EQ(rounds, (std::vector<double>{0, 5, 10, 19, 24}));
}

TEST(RoundPolicy, NamesOnlyWhoChanges) {
  Corner corner;
  Probe policy;

  const Decision first = policy.on(Tick{}, corner.view(0));
  corner.jobs.at(JobId{1}).share = 1;
  const Decision second = policy.on(Tick{}, corner.view(5));

  EXPECT_EQ(first.targets.size(), 1U);
  EXPECT_TRUE(second.is_round && second.targets.empty());
}

TEST(RoundPolicy, AReportBringsARoundOnlyIfTheJobLostItsWorkers) {
  Corner corner;
  Probe policy;
  static_cast<void>(policy.on(Tick{}, corner.view(0)));
  JobState& job = corner.jobs.at(JobId{1});
  job.share = 1;

  const Decision running = policy.on(ProgressReport{.job = job.id()}, corner.view(1));
  job.share = 0;
  const Decision stopped = policy.on(ProgressReport{.job = job.id()}, corner.view(2));
  job.share = 1;
  const Decision after = policy.on(ProgressReport{.job = job.id()}, corner.view(3));

  EXPECT_EQ(running.wake_at, kNever);
  EXPECT_EQ(stopped.wake_at, at_seconds(5));
  EXPECT_EQ(after.wake_at, at_seconds(5));  // The round that is due stays due.
}

TEST(RoundPolicy, KeepsItsOwnAppointment) {
  Corner corner;
  Probe policy(at_seconds(60));

  const Decision round = policy.on(Tick{}, corner.view(0));
  const Decision report = policy.on(ProgressReport{.job = JobId{1}}, corner.view(1));

  EXPECT_EQ(round.wake_at, at_seconds(60));
  EXPECT_EQ(report.wake_at, at_seconds(5));  // It has no workers.
}

TEST(RoundPolicy, TellsWhoLeaves) {
  Corner corner;
  Probe policy;

  const Decision decision =
      policy.on(Completion{.job = JobId{7}, .outcome = Outcome::Failed}, corner.view(1));

  EXPECT_EQ(policy.left, std::vector<JobId>{JobId{7}});
  EXPECT_EQ(decision.wake_at, at_seconds(1));
}

TEST(RoundPolicy, RejectsAStateItDidNotWrite) {
  Probe policy;

  EXPECT_FALSE(policy.load("turn 1 2 3\n").ok());
  EXPECT_FALSE(policy.load("round 5\n").ok());
  EXPECT_TRUE(policy.load("round 5 1\n").ok());
  EXPECT_EQ(policy.save(), "round 5 1\n");
}

}  // namespace
}  // namespace rubato::policy::rounds
