#include "rubato/policy/afs/afs_p.h"

#include <set>

#include <gtest/gtest.h>

#include "rubato/policy/testing/elastic_scene_test.h"

namespace rubato::policy::afs {
namespace {

Scene::Make afs_p_with(std::string_view options) {
  return [options] { return make_afs_p(PolicyOptions::parse(options).value()); };
}

TEST(AfsP, GivesGpusToTheJobThatScalesWhateverTheLengths) {
  for (const double work : {1.5, 1000.0}) {
    Scene scene(afs_p_with("packing=off"), {.cluster = "1x5", .speeds = mixed_speeds()});
    scene.submit({model_job(1, 0, "steep", work), model_job(2, 0, "flat", 100)});

    scene.run_until(0.5);

    // steep at two GPUs: at most 0.25/1.5; flat at two: at least 0.81/2.71.
    EXPECT_EQ(scene.share(1), 2) << work;
    EXPECT_EQ(scene.share(2), 3) << work;
  }
}

// Pairs of like jobs depend on length, so a coin decides who gets the odd GPU.
TEST(AfsP, SplitsLengthDependentPairsBothWays) {
  std::set<int> shares;
  for (std::uint64_t id = 1; id <= 20; ++id) {
    Scene scene(afs_p_with("packing=off"), {.cluster = "1x3", .speeds = mixed_speeds()});
    scene.submit({model_job(id, 0, "flat", 100), model_job(id + 100, 0, "flat", 100)});

    scene.run_until(1);

    shares.insert(scene.share(id));
  }
  EXPECT_EQ(shares, (std::set<int>{1, 2}));
}

TEST(AfsP, TakesTurnsUnderOverload) {
  Scene scene(afs_p_with("quantum=10"), {.cluster = "1x1"});
  scene.submit({linear_job(1, 0, 1, 25), linear_job(2, 0, 1, 10), linear_job(3, 0, 1, 15)});

  scene.run();

  // 1, 2, 3, 1, 3 for the five it still needs, 1 again.
  EXPECT_EQ(scene.finish(2), 20);
  EXPECT_EQ(scene.finish(3), 45);
  EXPECT_EQ(scene.finish(1), 50);
}

TEST(AfsP, LetsALiveQuantumEndBeforeANewcomerStarts) {
  Scene scene(afs_p_with("quantum=10"), {.cluster = "1x1"});
  scene.submit({linear_job(1, 0, 1, 100), linear_job(2, 1, 1, 100), linear_job(3, 12, 1, 5)});

  scene.run_until(5);
  EXPECT_EQ(scene.share(1), 1);
  scene.run_until(13);
  EXPECT_EQ(scene.share(2), 1);  // Its quantum began at 11.
  scene.run_until(22);
  EXPECT_EQ(scene.share(1), 1);  // It waits since 11, job 3 since 12.
  scene.run_until(32);
  EXPECT_EQ(scene.share(3), 1);
}

// Two GPUs; a long job, and a stream of short ones that alone fills them.
double finish_of_long_job_on_two_gpus(const Scene::Make& make) {
  Scene scene(make, {.cluster = "1x2"});
  scene.submit(linear_job(1, 0, 1, 50));
  for (std::uint64_t i = 0; i < 200; ++i) {
    scene.submit(linear_job(i + 2, static_cast<double>(i) * 5, 1, 10));
  }
  scene.run();
  EXPECT_EQ(scene.finishes().size(), 201U);
  return scene.finish(1);
}

TEST(AfsP, StarvesNobodyUnlessFewestTurnsGoFirst) {
  EXPECT_LE(finish_of_long_job_on_two_gpus(afs_p_with("quantum=10")), 300);
  EXPECT_GE(finish_of_long_job_on_two_gpus(afs_p_with("quantum=10,turns=fewest")), 1000);
}

TEST(AfsP, StretchesJobsAgainWhenThereIsRoom) {
  Scene scene(afs_p_with("quantum=10"), {.cluster = "1x2"});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 0, 1, 10), linear_job(3, 0, 1, 40)});

  scene.run_until(20);

  EXPECT_EQ(scene.share(3), 2);
}

TEST(AfsP, ContinuesFromASavedStateAndThroughTheLossOfANode) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    ASSERT_TRUE(reloads_exactly(afs_p_with("quantum=10"), seed)) << "seed " << seed;
  }
}

// Between any two jobs that both waited all along, turns differ by one at most.
TEST(AfsP, SharesOverloadFairlyOnRandomJobs) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const int count = static_cast<int>(random.integer(3, 9));
    Scene scene(afs_p_with("quantum=10"), {.cluster = "1x2"});
    for (int id = 1; id <= count; ++id) {
      scene.submit(linear_job(static_cast<std::uint64_t>(id), 0, 1, 1000));
    }

    scene.run_until(10.0 * static_cast<double>(random.integer(1, 60)));

    double least = 1e9;
    double most = 0;
    scene.jobs().for_each([&](const JobState& job) {
      const double done = job.progress.at(scene.view().now);
      least = std::min(least, done);
      most = std::max(most, done);
    });
    ASSERT_LE(most - least, 10 + 1e-6) << "seed " << seed;
    ASSERT_GT(most, 0);
  }
}

TEST(AfsP, RejectsOptionsItDoesNotKnow) {
  EXPECT_FALSE(make_afs_p(PolicyOptions::parse("ageing=1").value()).ok());
  EXPECT_FALSE(make_afs_p(PolicyOptions::parse("quantum=0").value()).ok());
}

}  // namespace
}  // namespace rubato::policy::afs
