#include "rubato/policy/rounds/home_pool.h"

#include <gtest/gtest.h>

#include "rubato/policy/baseline/max_min.h"
#include "rubato/policy/testing/elastic_scene_test.h"

namespace rubato::policy::rounds {
namespace {

// Max-min shares out every pool by itself, so where its jobs run shows the choice.
Result<std::unique_ptr<Policy>> sharing_each_pool() {
  return baseline::make_max_min(PolicyOptions{});
}

std::vector<SpeedRow> fast_and_slow() {
  std::vector<SpeedRow> rows = falling_speeds("flat", 1.0, 8, "slow");
  for (SpeedRow row : falling_speeds("flat", 1.0, 8, "fast")) {
    row.speed *= 2.5;
    rows.push_back(row);
  }
  return rows;
}

TEST(HomePool, IsTheFastestAsLongAsThereIsRoom) {
  Scene scene(sharing_each_pool, {.cluster = "1x4:slow+1x4:fast", .speeds = fast_and_slow()});
  scene.submit(
      {model_job(1, 0, "flat", 900), model_job(2, 0, "flat", 900), model_job(3, 0, "flat", 900)});

  scene.run_until(1);

  // 10 alone on the fast pool; 5 beside one there, 4 alone on the slow one; then 2.5 and 4.
  EXPECT_EQ(scene.jobs().at(JobId{1}).pool(), PoolId{1});
  EXPECT_EQ(scene.jobs().at(JobId{2}).pool(), PoolId{1});
  EXPECT_EQ(scene.jobs().at(JobId{3}).pool(), PoolId{0});
}

TEST(HomePool, StaysTheSameWhileAJobRuns) {
  Scene scene(sharing_each_pool, {.cluster = "1x4:slow+1x4:fast", .speeds = fast_and_slow()});
  scene.submit(
      {model_job(1, 0, "flat", 20), model_job(2, 0, "flat", 20), model_job(3, 0, "flat", 900)});

  scene.run_until(10);

  EXPECT_EQ(scene.jobs().size(), 1U);
  EXPECT_EQ(scene.jobs().at(JobId{3}).pool(), PoolId{0});
}

TEST(HomePool, LeavesRoomToThoseWhoRun) {
  Scene scene(sharing_each_pool,
              {.cluster = "1x4:x+1x4:y", .speeds = joined(mixed_speeds("x"), mixed_speeds("y"))});
  scene.submit({model_job(1, 0, "flat", 900), model_job(2, 1, "flat", 900)});

  scene.run_until(2);

  EXPECT_EQ(scene.jobs().at(JobId{1}).pool(), PoolId{0});
  EXPECT_EQ(scene.jobs().at(JobId{2}).pool(), PoolId{1});
}

TEST(HomePool, AvoidsAPoolThatIsDownAndOneThatDoesNotKnowTheJob) {
  Scene scene(sharing_each_pool,
              {.cluster = "1x4:slow+1x4:fast+1x8:other", .speeds = fast_and_slow()});
  scene.set_node(NodeId{1}, false);
  scene.submit(model_job(1, 0, "flat", 900));

  scene.run_until(1);

  EXPECT_EQ(scene.jobs().at(JobId{1}).pool(), PoolId{0});
  EXPECT_EQ(scene.share(1), 4);
}

TEST(HomePool, WaitsIfAllPoolsThatKnowTheJobAreDown) {
  Scene scene(sharing_each_pool, {.cluster = "1x4:other+1x4:slow", .speeds = fast_and_slow()});
  scene.set_node(NodeId{1}, false);
  scene.submit(model_job(1, 0, "flat", 40));

  scene.run_until(5);
  EXPECT_EQ(scene.share(1), 0);
  scene.set_node(NodeId{1}, true);
  scene.run();

  EXPECT_EQ(scene.finish(1), 15);
}

}  // namespace
}  // namespace rubato::policy::rounds
