// Rounds: from shares to GPUs, and who is moved for whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/engine/testing/scripted_engine_test.h"

namespace rubato {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::uint64_t> ids_of(const std::vector<Run>& runs) {
  std::vector<std::uint64_t> ids;
  for (const auto& run : runs) {
    ids.push_back(run.job.value);
  }
  return ids;
}

TEST(Allocate, CommandsOnlyWhatChanges) {
  ScriptedEngine engine(World{.cluster = "2x4"});
  engine.arrive(0, job(1, 1000));
  engine.arrive(0, job(2, 1000));
  engine.round(0, {{1, 2}, {2, 2}});

  const Commands commands = engine.round(1, {{1, 2}, {2, 4}});

  EXPECT_THAT(ids_of(runs_of(commands)), ElementsAre(2));
  EXPECT_EQ(engine.job(2).resizes, 1);
  EXPECT_EQ(engine.job(1).resizes, 0);
}

TEST(Allocate, StopsAndShrinksBeforeItGrows) {
  ScriptedEngine engine(World{.cluster = "1x8"});
  for (std::uint64_t id = 1; id <= 3; ++id) {
    engine.arrive(0, job(id, 1000));
  }
  engine.round(0, {{1, 4}, {2, 4}});

  const Commands commands = engine.round(1, {{3, 6}, {2, 2}, {1, 0}});

  EXPECT_EQ(only<Suspend>(commands).at(0).job, JobId{1});
  EXPECT_THAT(ids_of(runs_of(commands)), ElementsAre(2, 3));
  EXPECT_EQ(engine.state().used.at(0), 8);
  EXPECT_THAT(engine.engine().audit(), IsEmpty());
}

TEST(Allocate, StopsWhomTheDecisionDoesNotNameIfItSaysSo) {
  ScriptedEngine engine(World{.cluster = "1x8"});
  engine.arrive(0, job(1, 1000));
  engine.arrive(0, job(2, 1000));
  engine.round(0, {{1, 4}, {2, 4}});

  const Commands commands =
      engine.decide(1, Decision{.is_round = true,
                                .keep_others = false,
                                .targets = {Target{.job = JobId{2}, .workers = 8}}});

  EXPECT_EQ(only<Suspend>(commands).at(0).job, JobId{1});
  EXPECT_EQ(engine.job(2).share, 8);
}

TEST(Allocate, CountsStartsResizesAndRestarts) {
  ScriptedEngine engine;
  engine.arrive(0, job(1, 1000));

  engine.round(5, {{1, 2}});
  engine.round(6, {{1, 4}});
  engine.round(7, {{1, 0}});
  engine.round(8, {{1, 1}});

  EXPECT_EQ(engine.job(1).first_start, at(5));
  EXPECT_EQ(engine.job(1).resizes, 1);
  EXPECT_EQ(engine.job(1).restarts, 1);
  EXPECT_EQ(engine.job(1).progress.at(at(8)), 2 + 4);
  EXPECT_EQ(engine.job(1).usage.gpu_seconds, 2 + 4);
  EXPECT_EQ(engine.job(1).usage.waited, seconds(5 + 1));
}

TEST(Allocate, JobsCanChangePlacesBetweenFullPools) {
  World world{.cluster = "1x4:A+1x4:B", .speeds = test_speeds("A")};
  for (const SpeedRow& row : test_speeds("B")) {
    world.speeds.push_back(row);
  }
  ScriptedEngine engine(world);
  engine.arrive(0, job(1, 1000));
  engine.arrive(0, job(2, 1000));
  const auto give = [](PoolId first, PoolId second) {
    return Decision{.is_round = true,
                    .targets = {Target{.job = JobId{1}, .pool = first, .workers = 4},
                                Target{.job = JobId{2}, .pool = second, .workers = 4}}};
  };
  engine.decide(0, give(PoolId{0}, PoolId{1}));

  const Commands commands = engine.decide(1, give(PoolId{1}, PoolId{0}));

  EXPECT_THAT(runs_of(commands), SizeIs(2));
  EXPECT_EQ(engine.job(1).pool(), PoolId{1});
  EXPECT_EQ(engine.job(2).pool(), PoolId{0});
  EXPECT_EQ(engine.job(1).migrations, 1);
  EXPECT_THAT(engine.engine().audit(), IsEmpty());
}

// Two nodes of four GPUs, two jobs of two GPUs on different nodes: a job of four fits only
// scattered.
class Fragmented : public testing::Test {
 protected:
  Fragmented() : engine_(World{.cluster = "2x4", .accounting = ResizeCostModel::Physical}) {}

  // Job 1 may be promised; `model` is that of the job that needs four GPUs.
  void prepare(Instant promised, const std::string& model, Plan plan = {}) {
    for (std::uint64_t id = 1; id <= 3; ++id) {
      Verdict verdict{.job = JobId{id}, .promised = id == 3 ? kNever : promised};
      engine_.script().next = Decision{.verdicts = {verdict}};
      engine_.arrive(0, job(id, id == 3 ? 1e6 : 100));
    }
    engine_.round(0, {{1, 2}});
    engine_.round(0, {{3, 2}});
    engine_.round(0, {{2, 2}});
    engine_.on(1, Completion{.job = JobId{3}});
    Job wide = job(4, 1000);
    wide.model = model;
    engine_.arrive(1, wide);
    if (!plan.empty()) {
      engine_.decide(1, Decision{.plans = {JobPlan{.job = JobId{1}, .plan = plan},
                                           JobPlan{.job = JobId{2}, .plan = plan}}});
    }
    ASSERT_NE(node_of(1), node_of(2));
  }

  NodeId node_of(std::uint64_t id) {
    const Placement& placement = engine_.job(id).placement;
    return engine_.state().topology.node_of(PoolId{}, placement.ranges.front().first).id;
  }

  ScriptedEngine engine_;
};

TEST_F(Fragmented, AJobThatNeedsClosenessHasOthersMovedTogether) {
  prepare(kNever, "close");

  const Commands commands = engine_.round(2, {{4, 4}});

  EXPECT_THAT(runs_of(commands), SizeIs(2));
  EXPECT_EQ(node_of(1), node_of(2));
  EXPECT_EQ(engine_.job(1).migrations + engine_.job(2).migrations, 1);
  EXPECT_EQ(engine_.job(4).progress.speed, 4);
  EXPECT_THAT(engine_.engine().audit(), IsEmpty());
}

TEST_F(Fragmented, AJobIndifferentToClosenessMovesNobody) {
  prepare(kNever, "linear");

  const Commands commands = engine_.round(2, {{4, 4}});

  EXPECT_THAT(ids_of(runs_of(commands)), ElementsAre(4));
  EXPECT_NE(node_of(1), node_of(2));
}

TEST_F(Fragmented, AJobThatWouldBreakItsPromiseIsNotMoved) {
  prepare(at(55), "close");  // Done at 53.904 with two GPUs; moving takes 3.209 s.

  const Commands commands = engine_.round(2, {{4, 4}});

  EXPECT_THAT(ids_of(runs_of(commands)), ElementsAre(4));
  EXPECT_EQ(engine_.job(4).progress.speed, 2);
}

TEST_F(Fragmented, AJobWithTimeInHandIsMoved) {
  prepare(at(58), "close");

  const Commands commands = engine_.round(2, {{4, 4}});

  EXPECT_THAT(runs_of(commands), SizeIs(2));
}

TEST_F(Fragmented, AJobWhosePlanWouldNotSurviveIsNotMovedThoughItIsAheadNow) {
  const Plan tight{.segments = {{.from = at(0), .to = at(55), .workers = 2}}};
  prepare(at(1000), "close", tight);

  const Commands commands = engine_.round(2, {{4, 4}});

  EXPECT_THAT(ids_of(runs_of(commands)), ElementsAre(4));
}

TEST_F(Fragmented, AJobMovedAndResizedInOneRoundPaysOnce) {
  prepare(kNever, "close");
  engine_.arrive(1, job(5, 1000));

  // Job 4 needs a whole node; whoever is moved for it shrinks or grows in the same round.
  const Commands commands = engine_.round(2, {{4, 4}, {1, 1}, {2, 1}, {5, 2}});

  const auto runs = runs_of(commands);
  EXPECT_THAT(runs, SizeIs(4));
  for (const auto& run : runs) {
    const double expected = run.job.value <= 2 ? 3.101 : 3.904;  // Shrinking; starting.
    EXPECT_EQ(run.pause, seconds(expected)) << "job " << run.job.value;
  }
  EXPECT_EQ(engine_.job(1).resizes, 1);
  EXPECT_EQ(engine_.job(1).migrations, 0);
  EXPECT_THAT(engine_.engine().audit(), IsEmpty());
}

Target on_nodes(std::uint64_t id, std::vector<NodeShare> nodes) {
  int workers = 0;
  for (const NodeShare& share : nodes) {
    workers += share.workers;
  }
  return Target{.job = JobId{id}, .workers = workers, .nodes = std::move(nodes)};
}

std::vector<NodeShare> nodes_of(const ScriptedEngine& engine, std::uint64_t id) {
  return engine.state().topology.nodes_of(engine.job(id).placement);
}

TEST(Allocate, PutsWorkersOnTheNodesAPolicyNames) {
  ScriptedEngine engine(World{.cluster = "3x4"});
  engine.arrive(0, job(1, 1000));

  engine.decide(
      0, Decision{.is_round = true, .targets = {on_nodes(1, {{NodeId{2}, 3}, {NodeId{0}, 1}})}});

  EXPECT_THAT(nodes_of(engine, 1), ElementsAre(NodeShare{NodeId{0}, 1}, NodeShare{NodeId{2}, 3}));
  EXPECT_THAT(engine.engine().audit(), IsEmpty());
}

TEST(Allocate, LetsTwoJobsChangeNodes) {
  ScriptedEngine engine(World{.cluster = "2x4"});
  engine.arrive(0, job(1, 1000));
  engine.arrive(0, job(2, 1000));
  engine.decide(
      0, Decision{.is_round = true,
                  .targets = {on_nodes(1, {{NodeId{0}, 4}}), on_nodes(2, {{NodeId{1}, 4}})}});

  const Commands commands = engine.decide(
      1, Decision{.is_round = true,
                  .targets = {on_nodes(1, {{NodeId{1}, 4}}), on_nodes(2, {{NodeId{0}, 4}})}});

  EXPECT_THAT(runs_of(commands), SizeIs(2));
  EXPECT_THAT(nodes_of(engine, 1), ElementsAre(NodeShare{NodeId{1}, 4}));
  EXPECT_EQ(engine.job(1).migrations, 1);
  EXPECT_THAT(engine.engine().audit(), IsEmpty());
}

TEST(Allocate, LeavesAJobAloneThatIsWhereItsPolicyWantsIt) {
  ScriptedEngine engine(World{.cluster = "2x4"});
  engine.arrive(0, job(1, 1000));
  const Decision wish{.is_round = true, .targets = {on_nodes(1, {{NodeId{1}, 2}})}};
  engine.decide(0, wish);

  EXPECT_THAT(runs_of(engine.decide(1, wish)), IsEmpty());
}

TEST(Allocate, PlacesAJobElsewhereIfItsWishCannotBeMet) {
  ScriptedEngine engine(World{.cluster = "2x4"});
  engine.arrive(0, job(1, 1000));
  engine.arrive(0, job(2, 1000));
  engine.decide(0, Decision{.is_round = true, .targets = {on_nodes(1, {{NodeId{0}, 3}})}});

  engine.decide(1, Decision{.is_round = true, .targets = {on_nodes(2, {{NodeId{0}, 2}})}});
  EXPECT_THAT(nodes_of(engine, 2), ElementsAre(NodeShare{NodeId{1}, 2}));

  engine.decide(2, Decision{.is_round = true, .targets = {on_nodes(2, {{NodeId{9}, 2}})}});
  EXPECT_EQ(engine.job(2).share, 2);
  EXPECT_THAT(engine.engine().audit(), IsEmpty());
}

TEST(Allocate, LetsNoJobTrainBeforeItsDataAreThere) {
  ScriptedEngine engine(World{.cluster = "1x4@edge/1+1x4@cloud/30"});
  engine.arrive(0, job(1, 1000));

  const Commands commands = engine.decide(
      10, Decision{.is_round = true,
                   .targets = {Target{.job = JobId{1}, .pool = PoolId{1}, .workers = 4}}});

  EXPECT_EQ(runs_of(commands).at(0).pause, seconds(20));
}

}  // namespace
}  // namespace rubato
