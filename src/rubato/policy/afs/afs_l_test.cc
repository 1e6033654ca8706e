#include "rubato/policy/afs/afs_l.h"

#include <numeric>

#include <gtest/gtest.h>

#include "rubato/policy/testing/elastic_scene_test.h"

namespace rubato::policy::afs {
namespace {

Result<std::unique_ptr<Policy>> afs_l() { return make_afs_l(PolicyOptions{}); }

Scene::Make afs_l_with(std::string_view options) {
  return [options] { return make_afs_l(PolicyOptions::parse(options).value()); };
}

TEST(AfsL, GivesALonelyJobAllItCanUse) {
  Scene scene(afs_l, {.cluster = "2x4", .speeds = falling_speeds("flat", 0.9, 6)});
  scene.submit(model_job(1, 0, "flat", 100));

  scene.run_until(1);

  EXPECT_EQ(scene.share(1), 4);  // Six would leave half of the second node over.
}

TEST(AfsL, TakesEveryCountWithoutPacking) {
  Scene scene(afs_l_with("packing=off"),
              {.cluster = "2x4", .speeds = falling_speeds("flat", 0.9, 6)});
  scene.submit(model_job(1, 0, "flat", 100));

  scene.run_until(1);

  EXPECT_EQ(scene.share(1), 6);
}

TEST(AfsL, FavoursTheJobThatScalesUnlessItIsMuchShorter) {
  Scene scene(afs_l_with("packing=off"), {.cluster = "1x4", .speeds = mixed_speeds()});
  scene.submit({model_job(1, 0, "steep", 50), model_job(2, 0, "flat", 60)});

  scene.run_until(1);

  // The third GPU: steep gains 0.5, flat 0.9/1.9. The fourth: 0.25/1.5 and 0.9/1.9.
  EXPECT_EQ(scene.share(1), 2);
  EXPECT_EQ(scene.share(2), 2);
}

TEST(AfsL, RunsTheShortestOnOneGpuEachUnderOverload) {
  Scene scene(afs_l, {.cluster = "1x2", .speeds = mixed_speeds()});
  scene.submit(
      {model_job(1, 0, "flat", 30), model_job(2, 0, "flat", 10), model_job(3, 0, "flat", 20)});

  scene.run_until(1);

  EXPECT_EQ(scene.shares(), (std::map<JobId, int>{{JobId{1}, 0}, {JobId{2}, 1}, {JobId{3}, 1}}));
}

// One GPU; a long job, and short ones that would keep it waiting for ever.
double finish_of_long_job_on_one_gpu(const Scene::Make& make) {
  Scene scene(make, {.cluster = "1x1"});
  scene.submit(linear_job(1, 0, 1, 50));
  for (std::uint64_t i = 0; i < 100; ++i) {
    scene.submit(linear_job(i + 2, static_cast<double>(i) * 10, 1, 10));
  }
  scene.run();
  return scene.finish(1);
}

TEST(AfsL, StarvesLongJobsUnlessTheyAge) {
  EXPECT_EQ(finish_of_long_job_on_one_gpu(afs_l), 1050);
  EXPECT_LE(finish_of_long_job_on_one_gpu(afs_l_with("ageing=1")), 200);
}

TEST(AfsL, SharesAgainWhenAJobEnds) {
  Scene scene(afs_l_with("packing=off"),
              {.cluster = "1x4", .speeds = falling_speeds("flat", 0.9, 4)});
  scene.submit({model_job(1, 0, "flat", 19), model_job(2, 0, "flat", 100)});

  scene.run_until(11);

  EXPECT_EQ(scene.finish(1), 10);
  EXPECT_EQ(scene.share(2), 4);
}

TEST(AfsL, ReordersAfterAMeasurement) {
  Scene scene(afs_l, {.cluster = "1x1"});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 1, 1, 12)});

  scene.run_until(2);
  scene.measure(1, 0.5);  // 8 steps left take 16 s.
  scene.run();

  EXPECT_EQ(scene.finish(2), 14);
  EXPECT_EQ(scene.finish(1), 30);
}

TEST(AfsL, RefusesWhatCanRunNowhere) {
  Scene scene(afs_l, {.cluster = "1x4"});
  Job wide = linear_job(1, 0, 8, 10);
  wide.workers.min = 8;
  scene.submit(wide);

  scene.run();

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Refuse);
  EXPECT_EQ(scene.verdict(1).reason, Reason::TooWide);
}

TEST(AfsL, UsesAllPools) {
  Scene scene(afs_l,
              {.cluster = "1x4:x+1x4:y", .speeds = joined(mixed_speeds("x"), mixed_speeds("y"))});
  scene.submit({model_job(1, 0, "flat", 50), model_job(2, 0, "flat", 60)});

  scene.run_until(1);

  EXPECT_EQ(scene.share(1), 4);
  EXPECT_EQ(scene.share(2), 4);
  EXPECT_NE(scene.jobs().at(JobId{1}).pool(), scene.jobs().at(JobId{2}).pool());
}

TEST(AfsL, ContinuesFromASavedStateAndThroughTheLossOfANode) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    ASSERT_TRUE(reloads_exactly(afs_l, seed)) << "seed " << seed;
  }
}

TEST(AfsL, BeatsEqualSharesInMeanCompletionTimeOnRandomJobs) {
  // Alone, all at once and without overload it should hardly ever lose to one GPU each.
  int wins = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Scene scene(afs_l, {.cluster = "2x4", .speeds = mixed_speeds()});
    std::vector<Job> jobs = random_elastic_jobs(seed, 6);
    double one_gpu_each = 0;
    for (Job& job : jobs) {
      job.arrival = Instant{};
      one_gpu_each += job.work;
    }
    scene.submit(jobs);

    scene.run();

    double summed = 0;
    for (const auto& [job, finish] : scene.finishes()) {
      summed += to_seconds(finish);
    }
    wins += summed < one_gpu_each ? 1 : 0;
  }
  EXPECT_EQ(wins, 2000);
}

TEST(AfsL, RejectsOptionsItDoesNotKnow) {
  EXPECT_FALSE(make_afs_l(PolicyOptions::parse("packs=on").value()).ok());
  EXPECT_FALSE(make_afs_l(PolicyOptions::parse("ageing=-1").value()).ok());
}

}  // namespace
}  // namespace rubato::policy::afs
