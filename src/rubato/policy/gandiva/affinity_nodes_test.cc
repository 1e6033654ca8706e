#include "rubato/policy/gandiva/affinity_nodes.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::gandiva {
namespace {

using testing::ElementsAre;

AffinityNodes nodes_of(std::string_view cluster) {
  return AffinityNodes(Topology::parse(cluster).value(), PoolId{0});
}

// The only node of a placement; -1 if it is none, -2 if there are several.
int node_of(const std::optional<std::vector<NodeShare>>& where) {
  return !where ? -1 : where->size() > 1 ? -2 : static_cast<int>(where->front().node.value);
}

// The sequence of the specification.
TEST(AffinityNodes, PlaceAsInThePaper) {
  AffinityNodes nodes = nodes_of("3x4");
  std::vector<int> found;
  for (const int workers : {1, 2, 4, 1, 2, 1, 2, 1, 4, 1, 8}) {
    found.push_back(node_of(nodes.place(workers, TakeTurns::WithItsSize)));
  }

  EXPECT_THAT(found, ElementsAre(0, 1, 2, 0, 1, 0, 1, 0, 2, 0, -1));
  EXPECT_EQ(nodes.asked(NodeId{0}), 5);  // Heights 1.25, 1.5 and 2.
  EXPECT_EQ(nodes.asked(NodeId{1}), 6);
  EXPECT_EQ(nodes.asked(NodeId{2}), 8);
}

TEST(AffinityNodes, ForgetTheSizeWhenTheyAreEmpty) {
  AffinityNodes nodes = nodes_of("1x4");
  const auto where = nodes.place(1, TakeTurns::Never).value();
  EXPECT_EQ(nodes.affinity(NodeId{0}), 1);

  nodes.remove(where);

  EXPECT_EQ(nodes.affinity(NodeId{0}), 0);
  EXPECT_EQ(node_of(nodes.place(4, TakeTurns::Never)), 0);
}

TEST(AffinityNodes, SpreadWhatIsWiderThanANode) {
  AffinityNodes nodes = nodes_of("3x4");

  EXPECT_THAT(*nodes.place(6, TakeTurns::Never),
              ElementsAre(NodeShare{NodeId{0}, 4}, NodeShare{NodeId{1}, 2}));
  EXPECT_EQ(nodes.place(7, TakeTurns::WithItsSize), std::nullopt);
  EXPECT_THAT(*nodes.place(7, TakeTurns::WithAnyone),
              ElementsAre(NodeShare{NodeId{1}, 3}, NodeShare{NodeId{2}, 4}));
  EXPECT_EQ(nodes.place(13, TakeTurns::WithAnyone), std::nullopt);
}

TEST(AffinityNodes, LeaveNodesThatAreDownOut) {
  AffinityNodes nodes = nodes_of("2x4");
  nodes.set_node(NodeId{0}, false);

  EXPECT_EQ(node_of(nodes.place(1, TakeTurns::WithAnyone)), 1);
  EXPECT_EQ(nodes.place(4, TakeTurns::Never), std::nullopt);
  nodes.set_node(NodeId{0}, true);
  EXPECT_EQ(node_of(nodes.place(4, TakeTurns::Never)), 0);
}

TEST(AffinityNodes, FindTheTightestHole) {
  AffinityNodes nodes = nodes_of("3x4");
  nodes.add(std::vector<NodeShare>{{NodeId{0}, 1}});
  nodes.add(std::vector<NodeShare>{{NodeId{1}, 2}});

  EXPECT_EQ(nodes.hole(2), NodeId{1});
  EXPECT_EQ(nodes.hole(3), NodeId{0});
  EXPECT_EQ(nodes.hole(1, NodeId{0}), NodeId{1});
  EXPECT_EQ(nodes.hole(1, NodeId{1}), std::nullopt);
}

// Counts are kept, nobody takes turns who may not, and whoever fits somewhere is placed.
TEST(AffinityNodes, NeverTakeTurnsWhileThereIsRoom) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    AffinityNodes nodes = nodes_of("3x4+2x2");
    std::vector<std::vector<NodeShare>> placed;
    for (int step = 0; step < 40; ++step) {
      std::map<NodeId, int> asked;
      for (const auto& where : placed) {
        for (const NodeShare& share : where) {
          asked[share.node] += share.workers;
        }
      }
      int room = 0;
      for (const NodeId id : nodes.ids()) {
        ASSERT_EQ(nodes.asked(id), asked[id]) << "seed " << seed;
        room += std::max(0, nodes.gpus(id) - asked[id]);
      }
      if (random.chance(0.4) && !placed.empty()) {
        const auto which = static_cast<std::ptrdiff_t>(random.next() % placed.size());
        nodes.remove(placed[static_cast<std::size_t>(which)]);
        placed.erase(placed.begin() + which);
        continue;
      }
      const int workers = static_cast<int>(random.integer(1, 8));
      const auto turns = static_cast<TakeTurns>(random.integer(0, 2));
      const auto where = nodes.place(workers, turns);
      if (turns == TakeTurns::Never) {
        ASSERT_EQ(where.has_value(), room >= workers) << "seed " << seed;
      }
      ASSERT_TRUE(where.has_value() || turns != TakeTurns::WithAnyone) << "seed " << seed;
      if (!where) {
        continue;
      }
      for (const NodeShare& share : *where) {
        const bool fits = asked[share.node] + share.workers <= nodes.gpus(share.node);
        ASSERT_TRUE(fits || room < workers) << "seed " << seed;
        ASSERT_LE(share.workers, nodes.gpus(share.node));
      }
      placed.push_back(*where);
    }
  }
}

}  // namespace
}  // namespace rubato::policy::gandiva
