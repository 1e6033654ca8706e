#include "rubato/sim/fault_model.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

namespace rubato {
namespace {

Topology nodes(int count) {
  return Topology(std::vector<NodeGroup>{{.nodes = count, .gpus_per_node = 4}});
}

std::vector<Fault> draw(const FaultOptions& options, int count = 4, std::uint64_t seed = 1) {
  return draw_faults(options, nodes(count), at_seconds(100), at_seconds(1e6), Random(seed));
}

bool same(const Fault& left, const Fault& right) {
  return left.at == right.at && left.kind == right.kind && left.node == right.node;
}

TEST(FaultOptions, AreReadFromText) {
  const auto options = FaultOptions::parse("node_mtbf=86400, noise=0.1");

  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->node_mtbf, 86400);
  EXPECT_EQ(options->noise, 0.1);
  EXPECT_EQ(options->node_repair, FaultOptions{}.node_repair);
  EXPECT_TRUE(options->any());
  EXPECT_FALSE(FaultOptions::parse("")->any());
}

TEST(FaultOptions, NameWhatIsWrong) {
  EXPECT_EQ(FaultOptions::parse("node_mtfb=1").error().message,
            "faults: unknown 'node_mtfb'; did you mean 'node_mtbf'?");
  EXPECT_FALSE(FaultOptions::parse("noise=-1").ok());
  EXPECT_FALSE(FaultOptions::parse("noise").ok());
  EXPECT_FALSE(FaultOptions::parse("noise=much").ok());
}

TEST(FaultModel, DrawsNothingThatIsSwitchedOff) { EXPECT_TRUE(draw(FaultOptions{}).empty()); }

TEST(FaultModel, DrawsInOrderOfTimeAndInsideTheWindow) {
  const auto faults =
      draw({.node_mtbf = 5000, .node_repair = 100, .worker_mtbf = 3000, .straggler_mtbf = 4000});

  EXPECT_TRUE(std::ranges::is_sorted(faults, {}, &Fault::at));
  for (const Fault& fault : faults) {
    const bool ends = fault.kind == FaultKind::NodeUp || fault.kind == FaultKind::SlowEnds;
    EXPECT_GE(fault.at, at_seconds(100));
    EXPECT_TRUE(ends || fault.at < at_seconds(1e6));
  }
}

TEST(FaultModel, BringsBackEveryNodeThatWasLostBeforeItIsLostAgain) {
  std::map<NodeId, bool> down;
  for (const Fault& fault : draw({.node_mtbf = 1000, .node_repair = 500})) {
    ASSERT_EQ(down[fault.node], fault.kind == FaultKind::NodeUp);
    down[fault.node] = fault.kind == FaultKind::NodeDown;
  }
  for (const auto& [node, is_down] : down) {
    EXPECT_FALSE(is_down);
  }
}

TEST(FaultModel, LosesNodesAsOftenAsAsked) {
  // A spell takes 1000 + 500 s on average; four nodes for 1e6 s have about 2667.
  const auto faults = draw({.node_mtbf = 1000, .node_repair = 500});
  const auto lost = std::ranges::count(faults, FaultKind::NodeDown, &Fault::kind);

  EXPECT_NEAR(static_cast<double>(lost), 2667, 200);
}

TEST(FaultModel, DrawsTheSameFaultsFromTheSameSeed) {
  const FaultOptions options{.node_mtbf = 1000, .worker_mtbf = 1000, .straggler_mtbf = 1000};

  EXPECT_TRUE(std::ranges::equal(draw(options), draw(options), same));
  EXPECT_FALSE(std::ranges::equal(draw(options), draw(options, 4, 2), same));
}

TEST(FaultModel, DrawsOneKindAndOneNodeWithoutMovingTheOthers) {
  const auto losses = [](std::vector<Fault> faults) {
    std::erase_if(faults, [](const Fault& fault) {
      return fault.node != NodeId{1} || fault.kind == FaultKind::WorkerLost;
    });
    return faults;
  };

  const auto alone = losses(draw({.node_mtbf = 1000}, 2));
  const auto among = losses(draw({.node_mtbf = 1000, .worker_mtbf = 500}, 8));

  EXPECT_FALSE(alone.empty());
  EXPECT_TRUE(std::ranges::equal(alone, among, same));
}

}  // namespace
}  // namespace rubato
