#include "rubato/policy/baseline/max_min.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/policy/testing/elastic_scene_test.h"

namespace rubato::policy::baseline {
namespace {

Result<std::unique_ptr<Policy>> max_min() { return make_max_min(PolicyOptions{}); }

TEST(MaxMin, GivesOlderJobsTheOddGpus) {
  Scene scene(max_min, {.cluster = "2x4"});
  scene.submit({linear_job(1, 0, 1, 100), linear_job(2, 0, 1, 100), linear_job(3, 0, 1, 100)});

  scene.run_until(1);

  EXPECT_EQ(scene.share(1), 3);
  EXPECT_EQ(scene.share(2), 3);
  EXPECT_EQ(scene.share(3), 2);
}

TEST(MaxMin, GivesTheRestToThoseWhoCanUseIt) {
  Scene scene(max_min, {.cluster = "2x4",
                        .speeds = joined(falling_speeds("narrow", 0.9, 2), linear_speeds())});
  scene.submit({model_job(1, 0, "narrow", 100), linear_job(2, 0, 1, 100)});

  scene.run_until(1);

  EXPECT_EQ(scene.share(1), 2);
  EXPECT_EQ(scene.share(2), 6);
}

TEST(MaxMin, IsFirstComeFirstServedUnderOverload) {
  Scene scene(max_min, {.cluster = "1x2"});
  scene.submit({linear_job(3, 0, 1, 10), linear_job(2, 1, 1, 1), linear_job(1, 2, 1, 1)});

  scene.run_until(2.5);

  EXPECT_EQ(scene.share(1), 1);  // Job 2 ended at 2.
  EXPECT_EQ(scene.share(3), 1);
}

TEST(MaxMin, ContinuesFromASavedStateAndThroughTheLossOfANode) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    ASSERT_TRUE(reloads_exactly(max_min, seed)) << "seed " << seed;
  }
}

// Max-min by definition: nobody could have more without taking from one who has no more than it.
TEST(MaxMin, IsMaxMinFairOnRandomJobs) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Scene scene(max_min, {.cluster = "3x4", .speeds = mixed_speeds()});
    scene.submit(random_elastic_jobs(seed, 10));
    scene.watch([&] {
      int used = 0;
      int most = 0;
      for (const auto& [job, share] : scene.shares()) {
        used += share;
        most = std::max(most, share);
      }
      for (const auto& [job, share] : scene.shares()) {
        ASSERT_TRUE(share == 8 || share + 1 >= most) << "seed " << seed;
        ASSERT_TRUE(share == 8 || used == 12) << "seed " << seed;
      }
    });

    scene.run();

    ASSERT_EQ(scene.finishes().size(), 10U);
  }
}

}  // namespace
}  // namespace rubato::policy::baseline
