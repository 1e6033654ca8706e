#include "rubato/policy/reconstructed/a_online.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::reconstructed {
namespace {

Scene::Make a_online(const AOnlineOptions& options = {.slot = std::chrono::seconds(1)}) {
  return [options] { return Result<std::unique_ptr<Policy>>(make_a_online(options)); };
}

Job weighing(double weight, Job job) {
  job.job_class = JobClass::BestEffort;
  job.weight = weight;
  return job;
}

TEST(AOnline, DecidesTheWorkedCaseWithoutServers) {
  // Two nodes of two GPUs; A, B and C need 2, 4 and 3 worker-seconds and weigh 6, 4 and 2.
  Scene scene(a_online(), {.cluster = "2x2"});
  scene.submit({weighing(6, linear_job(1, 0, 2, 1)), weighing(4, linear_job(2, 0, 2, 2)),
                weighing(2, linear_job(3, 0, 2, 1.5))});

  scene.run();

  EXPECT_EQ(scene.finish(1), 2);
  EXPECT_EQ(scene.finish(2), 3);
  EXPECT_LE(scene.finish(3), 4);
}

TEST(AOnline, DecidesNobodyBeforeTheBatch) {
  Scene scene(a_online({.slot = std::chrono::seconds(10)}));
  scene.submit({weighing(1, linear_job(1, 0, 1, 5)), weighing(1, linear_job(2, 12, 1, 5)),
                weighing(1, linear_job(3, 19, 1, 5))});

  scene.run_until(9);
  EXPECT_EQ(scene.share(1), 0);
  scene.run_until(11);
  EXPECT_EQ(scene.share(1), 1);
  scene.run_until(19.5);
  EXPECT_EQ(scene.share(2) + scene.share(3), 0);
  scene.run();

  EXPECT_EQ(scene.finish(2), 25);
  EXPECT_EQ(scene.finish(3), 25);
}

TEST(AOnline, LetsTheHeaviestGoFirst) {
  Scene scene(a_online());
  std::vector<Job> jobs;
  for (std::uint64_t id = 1; id <= 6; ++id) {
    jobs.push_back(weighing(id == 6 ? 10 : 1, linear_job(id, 0, 4, 20)));
  }
  scene.submit(jobs);

  scene.run();

  for (std::uint64_t id = 1; id <= 5; ++id) {
    EXPECT_LT(scene.finish(6), scene.finish(id)) << id;
  }
}

TEST(AOnline, UsesAtMostTheGpusAJobAskedFor) {
  Scene scene(a_online(), {.cluster = "2x4"});
  scene.submit(weighing(1, linear_job(1, 0, 2, 20)));

  scene.run_until(5);

  EXPECT_EQ(scene.share(1), 2);
}

// Weighted completion time against the best order on one wide machine, which bounds every schedule.
TEST(AOnline, StaysWithinItsBoundOfTheFractionalOptimum) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    Scene scene(a_online(), {.cluster = "2x2"});
    std::vector<Job> jobs;
    for (std::uint64_t id = 1; id <= 10; ++id) {
      jobs.push_back(weighing(random.uniform(1, 5),
                              linear_job(id, 0, 1 << random.integer(0, 2), random.uniform(1, 10))));
    }
    scene.submit(jobs);
    scene.run();

    std::ranges::sort(jobs, {}, [](const Job& job) { return job.work / job.weight; });
    double weighted = 0;
    double bound = 0;
    double done = 0;
    for (const Job& job : jobs) {
      done += job.work / 4;
      bound += job.weight * done;
      ASSERT_GT(scene.finish(job.id.value), 0) << "seed " << seed;
      weighted += job.weight * scene.finish(job.id.value);
    }
    ASSERT_GE(weighted, bound * 0.5) << "seed " << seed;
    ASSERT_LE(weighted, bound * 5) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::policy::reconstructed
