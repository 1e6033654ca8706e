#include "rubato/policy/elasticflow/deadline_planner.h"

#include <deque>

#include <gtest/gtest.h>

#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::elasticflow {
namespace {

/// A moment of a cluster, to be planned for.
struct Desk {
  explicit Desk(ResizeCostModel accounting = ResizeCostModel::None,
                std::string_view cluster = "1x4")
      : topology(Topology::parse(cluster).value()),
        speeds(linear_speeds(), topology),
        costs(accounting, topology.gpus(), from_seconds(60)) {
    for (const Pool& pool : topology.pools()) {
      capacity.push_back(pool.gpus);
    }
  }

  const JobState& add(const Job& job, int share = 0) {
    JobState& state = jobs.insert(job);
    state.speed = speeds.resolve(state.job);
    state.share = share;
    state.progress.speed = share;
    in_order.push_back(&state);
    return state;
  }

  View view() {
    return View{.topology = topology,
                .capacity = capacity,
                .jobs = jobs,
                .speeds = speeds,
                .costs = costs,
                .slot = from_seconds(60),
                .random = random};
  }

  std::optional<PlanSet> plan(double start = 0, Occasion occasion = Occasion::Arrival,
                              JobId* failed = nullptr) {
    const View now = view();
    return DeadlinePlanner(now, charges, at_seconds(start))
        .plan(in_order, nullptr, occasion, failed);
  }

  Topology topology;
  SpeedBook speeds;
  ResizeCost costs;
  std::vector<int> capacity;
  JobTable jobs;
  Random random{1};
  artifact::RoundCharges charges;
  std::vector<const JobState*> in_order;
};

TEST(DeadlinePlanner, PlansInDeadlineOrderEachBesideTheEarlierOnes) {
  // The first needs three of four GPUs all the time, which leaves one to the second.
  Desk desk;
  desk.add(due_at(1000, linear_job(1, 0, 1, 2900)));
  desk.add(due_at(2000, linear_job(2, 0, 1, 3000)));

  const auto set = desk.plan();

  ASSERT_TRUE(set);
  EXPECT_EQ(set->plans[0].job, JobId{1});
  EXPECT_EQ(set->plans[0].plan.at(at_seconds(900)), 3);
  EXPECT_LE(set->plans[0].plan.at(at_seconds(900)) + set->plans[1].plan.at(at_seconds(900)), 4);
  EXPECT_LE(set->plans[1].plan.finish(), at_seconds(2000));
}

TEST(DeadlinePlanner, NamesTheFirstJobThatDoesNotFit) {
  Desk desk;
  desk.add(due_at(1000, linear_job(1, 0, 1, 3900)));
  desk.add(due_at(1100, linear_job(2, 0, 1, 600)));
  desk.add(due_at(9000, linear_job(3, 0, 1, 600)));
  JobId failed{};

  EXPECT_FALSE(desk.plan(0, Occasion::Arrival, &failed));
  EXPECT_EQ(failed, JobId{2});
}

TEST(DeadlinePlanner, TriesEarlyPlansWhereLateOnesWasteTooMuch) {
  // Together they need 3990 of 4000 GPU seconds: no room for the margin of late plans.
  Desk desk;
  desk.add(due_at(1000, linear_job(1, 0, 1, 1990)));
  desk.add(due_at(1000, linear_job(2, 0, 1, 2000)));

  EXPECT_TRUE(desk.plan());
}

TEST(DeadlinePlanner, LeavesARunningJobInItsPool) {
  Desk desk(ResizeCostModel::None, "1x4:A+1x4:B");
  desk.speeds = SpeedBook(
      [] {
        std::vector<SpeedRow> rows = linear_speeds("A");
        for (SpeedRow& row : linear_speeds("B")) {
          rows.push_back(row);
        }
        return rows;
      }(),
      desk.topology);
  JobState& running = desk.jobs.insert(due_at(1000, linear_job(1, 0, 1, 500)));
  running.speed = desk.speeds.resolve(running.job);
  running.share = 1;
  running.placement.pool = PoolId{1};
  desk.in_order.push_back(&running);
  desk.add(due_at(1000, linear_job(2, 0, 1, 500)));

  const auto set = desk.plan();

  ASSERT_TRUE(set);
  EXPECT_EQ(set->plans[0].plan.pool, PoolId{1});
  EXPECT_EQ(set->plans[1].plan.pool, PoolId{0});
}

TEST(DeadlinePlanner, LetsAJobThatEndsBeforeTheRoundKeepNobodyOut) {
  // Due before the round at 60 s, and done at 50 s.
  Desk desk;
  desk.add(due_at(55, linear_job(1, 0, 1, 50)), /*share=*/1);
  desk.add(due_at(1000, linear_job(2, 0, 1, 500)));

  const auto set = desk.plan(60);

  ASSERT_TRUE(set);
  EXPECT_TRUE(set->plans[0].plan.empty());
  EXPECT_FALSE(set->plans[1].plan.empty());
}

TEST(DeadlinePlanner, CountsTheWorkDoneUntilTheRound) {
  Desk desk;
  const JobState& job = desk.add(due_at(1000, linear_job(1, 0, 1, 100)), /*share=*/1);
  const View view = desk.view();

  const FillRequest request =
      DeadlinePlanner(view, desk.charges, at_seconds(60)).request(job, PoolId{});

  EXPECT_EQ(request.work, 40);
  EXPECT_EQ(request.share, 1);
}

TEST(DeadlinePlanner, PlansForTheRoundsThatItsPlansCause) {
  // Under the artifact's accounting the second job's later start stops the first one.
  Desk desk(ResizeCostModel::Artifact);
  desk.add(due_at(2000, linear_job(1, 0, 1, 4000)));
  desk.add(due_at(3000, linear_job(2, 0, 1, 6000)));

  const auto set = desk.plan(0, Occasion::Rescue);

  ASSERT_TRUE(set);
  for (std::size_t i = 0; i < set->plans.size(); ++i) {
    const View view = desk.view();
    FillRequest request =
        DeadlinePlanner(view, desk.charges, at_seconds(0)).request(*desk.in_order[i], PoolId{});
    request.stalls = &set->stalls;
    EXPECT_TRUE(completes(request, set->plans[i].plan));
  }
  for (const Commitment& each : set->plans) {
    for (const PlanSegment& segment : each.plan.segments) {
      const Instant from = segment.from;
      EXPECT_TRUE(from == at_seconds(0) ||
                  set->stalls.within(from - Duration{1}, from + Duration{1}) > Duration{});
    }
  }
}

TEST(DeadlinePlanner, ReservesTimeForRoundsOnlyWhereTheyStopEveryone) {
  Desk artifact(ResizeCostModel::Artifact);
  Desk physical(ResizeCostModel::Physical);
  const JobState& job = artifact.add(due_at(6000, linear_job(1, 0, 1, 100)));
  const View view = artifact.view();
  const View other = physical.view();
  const DeadlinePlanner planner(view, artifact.charges, at_seconds(0));

  // A round in 600 s at two seconds each, twice as many as expected, and three for a newcomer.
  EXPECT_EQ(planner.reserve(job, false, Occasion::Arrival), from_seconds(40));
  EXPECT_EQ(planner.reserve(job, true, Occasion::Arrival), from_seconds(46));
  EXPECT_EQ(planner.reserve(job, false, Occasion::Opportunity), from_seconds(80));
  EXPECT_EQ(planner.reserve(job, true, Occasion::Rescue), from_seconds(0));
  EXPECT_EQ(
      DeadlinePlanner(other, physical.charges, at_seconds(0)).reserve(job, true, Occasion::Arrival),
      from_seconds(0));
}

}  // namespace
}  // namespace rubato::policy::elasticflow
