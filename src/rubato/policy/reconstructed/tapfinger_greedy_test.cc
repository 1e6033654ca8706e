#include "rubato/policy/reconstructed/tapfinger_greedy.h"

#include <gtest/gtest.h>

#include "rubato/policy/testing/elastic_scene_test.h"

namespace rubato::policy::reconstructed {
namespace {

Result<std::unique_ptr<Policy>> tapfinger() { return make_tapfinger_greedy(PolicyOptions{}); }

std::vector<SpeedRow> mixed_on_x_and_y() { return joined(mixed_speeds("x"), mixed_speeds("y")); }

TEST(TapfingerGreedy, SendsAContestedTaskWhereThereIsMoreRoom) {
  Scene scene(tapfinger, {.cluster = "1x2:x+1x4:y", .speeds = mixed_on_x_and_y()});
  scene.submit(model_job(1, 0, "flat", 100));

  scene.run_until(1);

  // Both agents pick it with certainty; the second has twice the room.
  EXPECT_EQ(scene.jobs().at(JobId{1}).pool(), PoolId{1});
  EXPECT_EQ(scene.share(1), 4);
}

TEST(TapfingerGreedy, StartsTheShortestTasksFirst) {
  Scene scene(tapfinger, {.cluster = "1x2", .speeds = mixed_speeds()});
  scene.submit(
      {model_job(1, 0, "flat", 30), model_job(2, 0, "flat", 10), model_job(3, 0, "flat", 20)});

  scene.run_until(1);

  EXPECT_EQ(scene.share(1), 0);
  EXPECT_EQ(scene.share(2), 1);
  EXPECT_EQ(scene.share(3), 1);
}

TEST(TapfingerGreedy, DoesNotStopAStartedTaskForAShorterOne) {
  Scene scene(tapfinger, {.cluster = "1x1"});
  scene.submit({linear_job(1, 0, 1, 30), linear_job(2, 5, 1, 1)});

  scene.run();

  EXPECT_EQ(scene.finish(1), 30);
  EXPECT_EQ(scene.finish(2), 31);
}

TEST(TapfingerGreedy, GivesTheRestToTheHighestMarginalRate) {
  Scene scene(tapfinger, {.cluster = "1x4", .speeds = mixed_speeds()});
  scene.submit({model_job(1, 0, "steep", 50), model_job(2, 0, "flat", 50)});

  scene.run_until(1);

  // 0.5 for steep; 0.9, then 0.81 for flat.
  EXPECT_EQ(scene.share(1), 1);
  EXPECT_EQ(scene.share(2), 3);
}

TEST(TapfingerGreedy, TakesGpusBackForANewTask) {
  Scene scene(tapfinger, {.cluster = "1x4"});
  scene.submit({linear_job(1, 0, 1, 100), linear_job(2, 5, 1, 100)});

  scene.run_until(6);

  EXPECT_GT(scene.share(2), 0);
  EXPECT_EQ(scene.share(1) + scene.share(2), 4);
}

TEST(TapfingerGreedy, DoesNotGrowForLessThanTheSwitchCosts) {
  // At 8 s job 2 has 2 s left on its GPU; another GPU would save one second, half a slot is two.
  Scene scene(tapfinger, {.cluster = "1x2", .slot_seconds = 4});
  scene.submit({linear_job(1, 0, 1, 8), linear_job(2, 0, 1, 10)});

  scene.run_until(9);

  EXPECT_EQ(scene.share(2), 1);
  EXPECT_EQ(scene.rounds(), 2);
}

TEST(TapfingerGreedy, PrefersTheRegionWhereTheDataLie) {
  Scene scene(tapfinger, {.cluster = "1x4@edge+1x5@cloud/1000", .speeds = mixed_speeds()});
  Job near = model_job(1, 0, "flat", 10);
  near.region = "edge";
  near.data_gb = 1;
  Job other = model_job(2, 0, "flat", 12);
  other.region = "cloud";
  other.data_gb = 1;
  scene.submit({near, other});

  scene.run_until(1);

  EXPECT_EQ(scene.jobs().at(JobId{1}).pool(), PoolId{0});
  EXPECT_EQ(scene.jobs().at(JobId{2}).pool(), PoolId{1});
}

TEST(TapfingerGreedy, ContinuesFromASavedStateAndThroughTheLossOfANode) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    ASSERT_TRUE(reloads_exactly(tapfinger, seed)) << "seed " << seed;
  }
}

// Masks: nobody waits who would fit beside the least that all others need.
TEST(TapfingerGreedy, LeavesNobodyWaitingWhoFitsOnRandomJobs) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Scene scene(tapfinger, {.cluster = "1x2:x+1x2:y", .speeds = mixed_on_x_and_y()});
    scene.submit(random_elastic_jobs(seed, 7));
    scene.watch([&] {
      std::map<PoolId, int> tasks;
      int waiting = 0;
      scene.jobs().for_each([&](const JobState& job) {
        waiting += job.admitted && job.share == 0 ? 1 : 0;
        tasks[job.pool()] += job.share > 0 ? 1 : 0;
      });
      ASSERT_TRUE(waiting == 0 || (tasks[PoolId{0}] == 2 && tasks[PoolId{1}] == 2))
          << "seed " << seed;
    });

    scene.run();

    ASSERT_EQ(scene.finishes().size(), 7U);
  }
}

TEST(TapfingerGreedy, RejectsOptionsItDoesNotKnow) {
  EXPECT_FALSE(make_tapfinger_greedy(PolicyOptions::parse("model=x").value()).ok());
  EXPECT_FALSE(make_tapfinger_greedy(PolicyOptions::parse("switch=-1").value()).ok());
}

}  // namespace
}  // namespace rubato::policy::reconstructed
