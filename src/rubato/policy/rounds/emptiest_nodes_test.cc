#include "rubato/policy/rounds/emptiest_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/policy/baseline/fifo.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::rounds {
namespace {

using testing::ElementsAre;

TEST(EmptiestNodes, FillsTheEmptiestNodeFirst) {
  Scene world([] { return baseline::make_fifo(PolicyOptions{}); }, {.cluster = "3x4"});
  EmptiestNodes nodes(world.view(), PoolId{0}, {});

  EXPECT_THAT(nodes.take(3), ElementsAre(NodeShare{NodeId{0}, 3}));
  EXPECT_THAT(nodes.take(6), ElementsAre(NodeShare{NodeId{1}, 4}, NodeShare{NodeId{2}, 2}));
  EXPECT_THAT(nodes.take(3), ElementsAre(NodeShare{NodeId{2}, 2}, NodeShare{NodeId{0}, 1}));
}

}  // namespace
}  // namespace rubato::policy::rounds
