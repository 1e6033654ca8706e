#include "rubato/core/topology.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

Topology parsed(std::string_view text) { return Topology::parse(text).value(); }

Placement on(PoolId pool, std::vector<GpuRange> ranges) {
  return {.pool = pool, .ranges = std::move(ranges)};
}

TEST(Topology, ReadsOneGroupOfNodes) {
  const Topology topology = parsed("16x8");

  EXPECT_EQ(topology.gpus(), 128);
  ASSERT_EQ(topology.pools().size(), 1U);
  EXPECT_EQ(topology.pools()[0].gpus_per_node, 8);
  EXPECT_EQ(topology.nodes().size(), 16U);
  EXPECT_EQ(topology.nodes()[15].first_gpu, 120);
  EXPECT_EQ(topology.nodes()[15].gpus_per_switch, 8);
}

TEST(Topology, MakesOnePoolOfEachGpuType) {
  const Topology topology = parsed("2x8:A100 + 3x4:T4 + 1x2:A100");

  ASSERT_EQ(topology.pools().size(), 2U);
  EXPECT_EQ(topology.pools()[0].gpu_type, "A100");
  EXPECT_EQ(topology.pools()[0].gpus, 18);
  EXPECT_EQ(topology.pools()[0].gpus_per_node, 8);
  EXPECT_EQ(topology.pools()[1].gpus, 12);
  EXPECT_EQ(topology.node(NodeId{5}).first_gpu, 16);
  EXPECT_EQ(topology.node(NodeId{5}).pool, PoolId{0});
  EXPECT_EQ(topology.gpus(), 30);
}

TEST(Topology, NamesThePartThatIsWrong) {
  const auto wrong = [](std::string_view text, std::string_view part) {
    const auto result = Topology::parse(text);
    return !result.ok() && result.error().message.find(part) != std::string::npos;
  };

  EXPECT_TRUE(wrong("", "cluster ''"));
  EXPECT_TRUE(wrong("16", "cluster '16'"));
  EXPECT_TRUE(wrong("16x8+", "cluster ''"));
  EXPECT_TRUE(wrong("16x8+4x0", "cluster '4x0': GPUs per node"));
  EXPECT_TRUE(wrong("0x8", "cluster '0x8': nodes"));
  EXPECT_TRUE(wrong("-1x8", "nodes must be"));
  EXPECT_TRUE(wrong("2x8x2", "GPUs per node"));
  EXPECT_TRUE(wrong("1x8:", "type after ':'"));
  EXPECT_TRUE(wrong("1x1025", "from 1 to 1024"));
  EXPECT_TRUE(wrong("1000000x1024", "more than"));
  EXPECT_TRUE(wrong("99999999999999999999x1", "nodes must be"));
}

TEST(Topology, FindsTheNodeOfAGpu) {
  const Topology topology = parsed("2x4+2x2");

  EXPECT_EQ(topology.node_of(PoolId{0}, 0).id, NodeId{0});
  EXPECT_EQ(topology.node_of(PoolId{0}, 3).id, NodeId{0});
  EXPECT_EQ(topology.node_of(PoolId{0}, 4).id, NodeId{1});
  EXPECT_EQ(topology.node_of(PoolId{0}, 9).id, NodeId{2});
  EXPECT_EQ(topology.node_of(PoolId{0}, 11).id, NodeId{3});
}

TEST(TopologyDeathTest, StopsAtAGpuThatDoesNotExist) {
  const Topology topology = parsed("2x4");

  EXPECT_DEATH(static_cast<void>(topology.node_of(PoolId{0}, -1)), "does not hold");
  EXPECT_DEATH(static_cast<void>(topology.node_of(PoolId{0}, 8)), "does not hold");
}

TEST(Topology, TellsHowFarApartGpusAre) {
  const NodeGroup group{.nodes = 4, .gpus_per_node = 4, .nodes_per_rack = 2};
  const Topology topology(std::span(&group, 1));

  EXPECT_EQ(topology.span_of(on(PoolId{0}, {})), Locality::Node);
  EXPECT_EQ(topology.span_of(on(PoolId{0}, {{0, 1}, {3, 1}})), Locality::Node);
  EXPECT_EQ(topology.span_of(on(PoolId{0}, {{3, 2}})), Locality::Rack);
  EXPECT_EQ(topology.span_of(on(PoolId{0}, {{8, 8}})), Locality::Rack);
  EXPECT_EQ(topology.span_of(on(PoolId{0}, {{7, 2}})), Locality::Across);
  EXPECT_EQ(topology.span_of(on(PoolId{0}, {{0, 1}, {15, 1}})), Locality::Across);
}

TEST(Topology, KnowsTheNarrowestSpanForACount) {
  const NodeGroup group{.nodes = 5, .gpus_per_node = 4, .nodes_per_rack = 2};
  const Topology topology(std::span(&group, 1));

  EXPECT_EQ(topology.narrowest_span(PoolId{0}, 4), Locality::Node);
  EXPECT_EQ(topology.narrowest_span(PoolId{0}, 5), Locality::Rack);
  EXPECT_EQ(topology.narrowest_span(PoolId{0}, 8), Locality::Rack);
  EXPECT_EQ(topology.narrowest_span(PoolId{0}, 9), Locality::Across);
}

TEST(Topology, NeverPutsTwoGroupsIntoOneRack) {
  const Topology topology = parsed("2x4:A+1x4:B+2x4:A");

  EXPECT_EQ(topology.span_of(on(PoolId{0}, {{0, 8}})), Locality::Rack);
  EXPECT_EQ(topology.span_of(on(PoolId{0}, {{7, 2}})), Locality::Across);
  EXPECT_EQ(topology.narrowest_span(PoolId{0}, 9), Locality::Across);
}

TEST(Topology, SplitsPoolsByRegion) {
  const Topology topology = parsed("2x4:A@edge/1+2x4:A@cloud/3/8");

  ASSERT_EQ(topology.pools().size(), 2U);
  EXPECT_EQ(topology.regions()[1].name, "cloud");
  EXPECT_EQ(topology.node(NodeId{2}).region, 1);
}

TEST(Topology, KnowsHowLongDataTakeIntoARegion) {
  const Topology topology = parsed("2x4@edge/1+2x4@cloud/3/8");

  EXPECT_EQ(topology.upload_time(PoolId{0}, "", 10), std::chrono::seconds{1});
  EXPECT_EQ(topology.upload_time(PoolId{1}, "", 10), std::chrono::seconds{13});
  EXPECT_EQ(topology.upload_time(PoolId{1}, "cloud", 10), Duration{});
}

TEST(Topology, SaysWhatIsWrongWithARegion) {
  for (const char* text : {"2x4@", "2x4@a/x", "2x4@a/1/-1", "2x4@a/1+2x4:B@a/2"}) {
    EXPECT_FALSE(Topology::parse(text)) << text;
  }
}

TEST(Topology, CountsTheGpusOfAPlacementByNode) {
  const Topology topology = parsed("3x4");

  EXPECT_THAT(topology.nodes_of(on(PoolId{0}, {{1, 2}, {3, 6}})),
              testing::ElementsAre(NodeShare{NodeId{0}, 3}, NodeShare{NodeId{1}, 4},
                                   NodeShare{NodeId{2}, 1}));
}

TEST(Placement, CountsItsGpus) {
  EXPECT_EQ(on(PoolId{0}, {{0, 2}, {5, 3}}).gpus(), 5);
  EXPECT_EQ(Placement{}.gpus(), 0);
}

}  // namespace
}  // namespace rubato
