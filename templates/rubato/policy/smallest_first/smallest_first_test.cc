#include "rubato/policy/smallest_first/smallest_first.h"

#include <gtest/gtest.h>

#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::smallest_first {
namespace {

auto default_smallest_first() { return smallest_first_policy().make(PolicyOptions{}); }

TEST(SmallestFirst, StartsTheNarrowestOfThoseWhoWait) {
  Scene scene(default_smallest_first, {.cluster = "1x4"});
  scene.submit({linear_job(1, 0, 4, 10), linear_job(2, 1, 4, 5), linear_job(3, 2, 3, 5),
                linear_job(4, 3, 1, 5)});

  scene.run();

  EXPECT_EQ(scene.finish(1), 10);
  EXPECT_EQ(scene.finish(4), 15);
  EXPECT_EQ(scene.finish(3), 15);
  EXPECT_EQ(scene.finish(2), 20);
}

TEST(SmallestFirst, ContinuesFromASavedStateThroughFaults) {
  for (const bool reloads : {false, true}) {
    Scene scene(default_smallest_first, {.cluster = "2x2", .reloads = reloads});
    scene.submit({linear_job(1, 0, 2, 10), linear_job(2, 0, 1, 4), linear_job(3, 0, 1, 6)});

    scene.run_until(1);
    scene.set_node(NodeId{0}, false);
    scene.run_until(2);
    scene.set_node(NodeId{0}, true);
    scene.run();

    EXPECT_EQ(scene.finish(1), 11);
    EXPECT_EQ(scene.finish(2), 4);
    EXPECT_EQ(scene.finish(3), 6);
  }
}

}  // namespace
}  // namespace rubato::policy::smallest_first
