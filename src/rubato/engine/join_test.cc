// Machines that join a running cluster.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/engine/record/replay.h"
#include "rubato/engine/testing/random_run_test.h"
#include "rubato/policy/registry.h"

namespace rubato {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kJoinSteps = 120;
constexpr int kJoinEvery = 25;

NodeJoin joining(std::uint64_t node, NewNode what) {
  return {.node = NodeId{node}, .what = std::move(what)};
}

TEST(Join, LeavesEveryJobWhereItIsAndGivesTheNewGpusToThoseWhoWait) {
  Engine engine = World{.cluster = "1x4"}.engine("fifo");
  RandomRun run(engine, 0);
  for (std::uint64_t id = 1; id <= 2; ++id) {
    Job wide = job(id, 1000);
    wide.requested = 4;
    run.feed(Arrival{.job = wide});
  }
  ASSERT_TRUE(run.starts(JobId{1}));
  const Placement before = engine.state().jobs.at(JobId{1}).placement;

  run.join(joining(1, {.gpus = 4}));
  EXPECT_EQ(engine.state().capacity.at(0), 4) << "it is down until it is said to be up";
  run.feed(NodeChange{.node = NodeId{1}, .up = true});

  EXPECT_EQ(engine.state().capacity.at(0), 8);
  ASSERT_TRUE(run.starts(JobId{2}));
  EXPECT_EQ(engine.state().jobs.at(JobId{1}).placement, before);
  EXPECT_EQ(engine.state().jobs.at(JobId{2}).placement.ranges.front().first, 4);
}

TEST(Join, OfAnotherTypeMakesAPool) {
  World world{.cluster = "1x4:A"};
  world.speeds = test_speeds("A");
  std::ranges::copy(test_speeds("B"), std::back_inserter(world.speeds));
  Engine engine = world.engine("elasticflow");
  RandomRun run(engine, 0);
  Job picky = job(1, 1000);
  picky.gpu_type = "B";

  run.join(joining(1, {.gpus = 2, .gpu_type = "B", .region = "next-door"}));
  run.feed(NodeChange{.node = NodeId{1}, .up = true});
  run.feed(Arrival{.job = picky});

  ASSERT_TRUE(run.starts(JobId{1}));
  EXPECT_EQ(engine.state().jobs.at(JobId{1}).pool(), PoolId{1});
  EXPECT_EQ(engine.state().jobs.at(JobId{1}).share, 2);
}

TEST(Join, KeepsTheNumbersOfAllThatWasThere) {
  for (const char* text : {"16x8", "2x4:A+3x2:B+1x8:A", "2x4@edge/1+16x8:A@cloud/3/10"}) {
    const Topology before = Topology::parse(text).value();
    for (const NewNode& node : {NewNode{.gpus = 3}, NewNode{.gpus = 1, .gpu_type = "A"},
                                NewNode{.gpus = 8, .gpu_type = "A", .region = "cloud"}}) {
      const Topology after = with_node(before, node).value();
      ASSERT_EQ(after.nodes().size(), before.nodes().size() + 1);
      for (const Node& old : before.nodes()) {
        const Node& same = after.node(old.id);
        EXPECT_EQ(same.pool, old.pool);
        EXPECT_EQ(same.rack, old.rack);
        EXPECT_EQ(same.region, old.region);
        EXPECT_EQ(same.gpus, old.gpus);
        EXPECT_EQ(same.gpus_per_switch, old.gpus_per_switch);
        EXPECT_EQ(same.first_gpu, old.first_gpu);
      }
      EXPECT_EQ(after.nodes().back().rack, before.nodes().back().rack + 1);
      EXPECT_EQ(after.gpus(), before.gpus() + node.gpus);
      for (std::size_t i = 0; i < before.regions().size(); ++i) {
        EXPECT_EQ(after.regions()[i], before.regions()[i]);
      }
    }
  }
}

TEST(Join, TurnsAwayWhatCannotBe) {
  Engine engine = World{.cluster = "1x4"}.engine("elasticflow");
  const std::string before = engine.save();
  const auto alarm = [&](const NodeJoin& change) {
    const auto alarms = only<Alarm>(engine.on(at(0), change));
    return alarms.empty() ? std::string{} : alarms.front().fault;
  };

  EXPECT_THAT(alarm(joining(0, {.gpus = 4})), HasSubstr("1 is next"));
  EXPECT_THAT(alarm(joining(7, {.gpus = 4})), HasSubstr("1 is next"));
  EXPECT_THAT(alarm(joining(1, {.gpus = 0})), HasSubstr("0 GPUs"));
  EXPECT_THAT(alarm(joining(1, {.gpus = -3})), HasSubstr("-3 GPUs"));
  EXPECT_THAT(alarm(joining(1, {.gpus = 1 << 30})), HasSubstr("GPUs"));
  EXPECT_EQ(engine.save(), before);

  Engine divided = World{.cluster = "2x4", .placer = "hived"}.engine("edf");
  EXPECT_THAT(only<Alarm>(divided.on(at(0), joining(2, {.gpus = 4}))).front().fault,
              HasSubstr("divided"));
}

/// A random life in which the cluster grows.
class GrowingLife {
 public:
  GrowingLife(Engine& engine, std::uint64_t seed) : engine_(engine), run_(engine, seed) {}

  void step() {
    run_.step();
    if (++steps_ % kJoinEvery != 0) {
      return;
    }
    const std::uint64_t next = engine_.state().topology.nodes().size();
    run_.join(joining(next, {.gpus = 1 + steps_ % 4, .region = steps_ % 2 == 0 ? "" : "annex"}));
    check_alarms();
    run_.feed(NodeChange{.node = NodeId{next}, .up = steps_ % 3 != 0});
  }

  void check_alarms() const {
    for (const Alarm& alarm : only<Alarm>(run_.last())) {
      ADD_FAILURE() << alarm.fault << " at step " << steps_;
    }
  }
  [[nodiscard]] RandomRun& run() { return run_; }

 private:
  Engine& engine_;
  RandomRun run_;
  int steps_ = 0;
};

class GrowingCluster : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] static JournalHeader header(std::uint64_t seed) {
    return {.policy = GetParam(),
            .accounting = kAccountings.at(seed % kAccountings.size()),
            .slot = seconds(seed % 2 == 0 ? 10 : 1),
            .seed = seed,
            .cluster = "2x4"};
  }
  [[nodiscard]] static Engine engine(std::uint64_t seed) {
    return engine_for(header(seed), {.rows = test_speeds()}).value();
  }
};

std::vector<std::string> names_of_policies() {
  std::vector<std::string> names;
  for (const PolicyInfo& info : all_policies()) {
    names.emplace_back(info.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Engine, GrowingCluster, testing::ValuesIn(names_of_policies()),
                         [](const auto& given) {
                           std::string name = given.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(GrowingCluster, StaysSound) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Engine grown = engine(seed);
    GrowingLife life(grown, seed);
    for (int i = 0; i < kJoinSteps; ++i) {
      life.step();

      life.check_alarms();
      ASSERT_FALSE(HasFailure()) << "seed " << seed << " step " << i;
      ASSERT_THAT(grown.audit(), IsEmpty()) << "seed " << seed << " step " << i;
    }
    EXPECT_EQ(grown.state().topology.nodes().size(), 2U + kJoinSteps / kJoinEvery);
  }
}

TEST_P(GrowingCluster, IsTheSameAgainFromItsJournal) {
  Engine grown = engine(1);
  GrowingLife life(grown, 1);
  for (int i = 0; i < kJoinSteps; ++i) {
    life.step();
  }
  Engine fresh = engine(1);

  const auto report = replay(header_line(header(1)) + life.run().journal(), fresh);

  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->same()) << report->difference->recorded << report->difference->replayed;
  EXPECT_EQ(fresh.save(), grown.save());
}

TEST_P(GrowingCluster, GoesOnFromACheckpoint) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    Engine grown = engine(seed);
    GrowingLife life(grown, seed);
    for (int i = 0; i < 60; ++i) {
      life.step();
    }
    const std::string saved = grown.save();

    Engine again = engine(seed);
    const Status loaded = again.load(saved);

    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ(again.save(), saved);
    const Instant then = later(life.run().now(), seconds(5));
    std::string first;
    std::string second;
    Job late = job(100'000, 100, 1000);
    for (const Event& event : {Event{Arrival{.job = late}}, Event{Tick{}}}) {
      for (const Command& command : grown.on(then, event)) {
        first += command_line(command);
      }
      for (const Command& command : again.on(then, event)) {
        second += command_line(command);
      }
    }
    EXPECT_EQ(first, second);
  }
}

}  // namespace
}  // namespace rubato
