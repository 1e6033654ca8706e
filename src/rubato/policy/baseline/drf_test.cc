#include "rubato/policy/baseline/drf.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/policy/testing/elastic_scene_test.h"

namespace rubato::policy::baseline {
namespace {

Result<std::unique_ptr<Policy>> drf() { return make_drf(PolicyOptions{}); }

Scene::Make drf_with(std::string_view options) {
  return [options] { return make_drf(PolicyOptions::parse(options).value()); };
}

Job job_of(std::string_view tenant, Job job) {
  job.tenant = tenant;
  return job;
}

// GPUs of a tenant's jobs.
int held(const Scene& scene, std::string_view tenant) {
  int gpus = 0;
  scene.jobs().for_each(
      [&](const JobState& job) { gpus += job.job.tenant == tenant ? job.share : 0; });
  return gpus;
}

TEST(Drf, SharesTheClusterEquallyBetweenTenants) {
  Scene scene(drf, {.cluster = "2x4"});
  for (std::uint64_t id = 1; id <= 8; ++id) {
    scene.submit(job_of("many", linear_job(id, 0, 1, 100)));
  }
  scene.submit({job_of("few", linear_job(9, 0, 2, 100)), job_of("few", linear_job(10, 0, 2, 100))});

  scene.run_until(1);

  EXPECT_EQ(held(scene, "many"), 4);
  EXPECT_EQ(held(scene, "few"), 4);
}

TEST(Drf, FollowsWhatTenantsAreEntitledTo) {
  Scene scene(drf, {.cluster = "2x4", .tenants = {{"a", 0.75}, {"b", 0.25}}});
  for (std::uint64_t id = 1; id <= 16; ++id) {
    scene.submit(job_of(id % 2 == 0 ? "a" : "b", linear_job(id, 0, 1, 100)));
  }

  scene.run_until(1);

  EXPECT_EQ(held(scene, "a"), 6);
  EXPECT_EQ(held(scene, "b"), 2);
}

TEST(Drf, WeighsAnUnknownTenantLikeTheLeastEntitled) {
  Scene scene(drf, {.cluster = "2x4", .tenants = {{"a", 0.6}, {"c", 0.2}}});
  for (std::uint64_t id = 1; id <= 16; ++id) {
    scene.submit(job_of(id % 2 == 0 ? "a" : "b", linear_job(id, 0, 1, 100)));
  }

  scene.run_until(1);

  EXPECT_EQ(held(scene, "a"), 6);
  EXPECT_EQ(held(scene, "b"), 2);
}

TEST(Drf, SkipsWhatDoesNotFitUnlessStrict) {
  for (const bool strict : {false, true}) {
    Scene scene(drf_with(strict ? "strict=on" : "strict=off"), {.cluster = "1x4"});
    scene.submit({job_of("a", linear_job(1, 0, 3, 100)), job_of("b", linear_job(2, 0, 2, 100)),
                  job_of("b", linear_job(3, 0, 1, 100))});

    scene.run_until(1);

    EXPECT_EQ(scene.share(1), 3);
    EXPECT_EQ(scene.share(2), 0);
    EXPECT_EQ(scene.share(3), strict ? 0 : 1);
  }
}

TEST(Drf, TakesGpusBackForANewTenantUnlessItMustNot) {
  for (const bool preempts : {true, false}) {
    Scene scene(drf_with(preempts ? "preempt=on" : "preempt=off"), {.cluster = "1x4"});
    for (std::uint64_t id = 1; id <= 4; ++id) {
      scene.submit(job_of("a", linear_job(id, 0, 1, 100)));
    }
    scene.submit({job_of("b", linear_job(5, 10, 1, 100)), job_of("b", linear_job(6, 10, 1, 100))});

    scene.run_until(20);

    EXPECT_EQ(held(scene, "b"), preempts ? 2 : 0);
    EXPECT_EQ(held(scene, "a"), preempts ? 2 : 4);
  }
}

TEST(Drf, MeasuresATenantByThePoolItUsesMost) {
  // a holds half of x; b holds a quarter of the larger y, and so is next.
  Scene scene(drf, {.cluster = "1x2:x+2x4:y",
                    .speeds = joined(falling_speeds("onx", 0.9, 8, "x"),
                                     falling_speeds("ony", 0.9, 8, "y"))});
  scene.submit(
      {job_of("a", model_job(1, 0, "onx", 100)), job_of("a", model_job(2, 0, "ony", 100))});
  for (std::uint64_t id = 3; id <= 9; ++id) {
    scene.submit(job_of("b", model_job(id, 0, "ony", 100)));
  }
  scene.submit(job_of("a", model_job(10, 0, "ony", 100)));

  scene.run_until(1);

  // Seven of b and one of a fill y; the second of a would have come after b's fifth.
  EXPECT_EQ(scene.share(1), 1);
  EXPECT_EQ(scene.share(2), 1);
  EXPECT_EQ(held(scene, "a") + held(scene, "b"), 9);
  EXPECT_EQ(scene.share(10), 1);
  EXPECT_EQ(scene.share(9), 0);
}

TEST(Drf, UsesEveryPoolAndMovesNobodyForNothing) {
  Scene scene(drf,
              {.cluster = "1x2:x+1x2:y", .speeds = joined(mixed_speeds("x"), mixed_speeds("y"))});
  Job wide = model_job(3, 5, "flat", 1000);
  wide.requested = 2;
  scene.submit({model_job(1, 0, "flat", 1000), model_job(2, 1, "flat", 1000), wide});

  scene.run_until(6);
  EXPECT_EQ(scene.jobs().at(JobId{2}).pool(), PoolId{0});
  EXPECT_EQ(scene.jobs().at(JobId{3}).pool(), PoolId{1});
  scene.set_node(NodeId{1}, false);
  scene.set_node(NodeId{1}, true);
  scene.run_until(7);

  EXPECT_EQ(scene.share(3), 2);
  EXPECT_EQ(scene.starts(), 4);  // Three jobs, and the third again after its node was lost.
}

TEST(Drf, ContinuesFromASavedStateAndThroughTheLossOfANode) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    ASSERT_TRUE(reloads_exactly(drf, seed)) << "seed " << seed;
    ASSERT_TRUE(reloads_exactly(drf_with("preempt=off,strict=on"), seed)) << "seed " << seed;
  }
}

// With jobs of one GPU each, two tenants that both have more than enough of them differ by one.
TEST(Drf, IsFairBetweenTenantsOnRandomJobs) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Scene scene(drf, {.cluster = "2x4"});
    Random random(seed);
    for (std::uint64_t id = 1; id <= 30; ++id) {
      scene.submit(job_of(random.chance(0.7) ? "a" : "b",
                          linear_job(id, static_cast<double>(random.integer(0, 20)), 1,
                                     static_cast<double>(random.integer(1, 20)))));
    }
    scene.watch([&] {
      std::map<std::string, int> waits;
      scene.jobs().for_each([&](const JobState& job) {
        waits[job.job.tenant] += job.admitted && job.share == 0 ? 1 : 0;
      });
      const int a = held(scene, "a");
      const int b = held(scene, "b");
      ASSERT_TRUE(waits["a"] == 0 || a + 1 >= b) << "seed " << seed;
      ASSERT_TRUE(waits["b"] == 0 || b + 1 >= a) << "seed " << seed;
      ASSERT_TRUE(waits["a"] + waits["b"] == 0 || a + b == 8) << "seed " << seed;
    });

    scene.run();

    ASSERT_EQ(scene.finishes().size(), 30U);
  }
}

}  // namespace
}  // namespace rubato::policy::baseline
