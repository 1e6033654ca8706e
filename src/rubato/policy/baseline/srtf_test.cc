#include "rubato/policy/baseline/srtf.h"

#include <algorithm>
#include <tuple>

#include <gtest/gtest.h>

#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/testing/policy_scene.h"
#include "rubato/policy/testing/random_gangs_test.h"

namespace rubato::policy::baseline {
namespace {

Result<std::unique_ptr<Policy>> srtf() { return make_srtf(PolicyOptions{}); }

constexpr GangLimits kSrtfLimits{.jobs = 14, .arrival = 30, .gpus = 8, .seconds = 20};

TEST(Srtf, MatchesTheExampleOfTheTiresiasPaper) {
  Scene scene(srtf, {.cluster = "1x2"});
  scene.submit({linear_job(1, 0, 2, 2), linear_job(2, 0, 1, 8), linear_job(3, 0, 2, 6)});

  scene.run();

  // By run time left: 2, then 6 on both GPUs, then 8. (The paper's SRSF weighs by GPUs.)
  EXPECT_EQ(scene.finish(1), 2);
  EXPECT_EQ(scene.finish(3), 8);
  EXPECT_EQ(scene.finish(2), 16);
}

TEST(Srtf, StopsALongJobForAShortOne) {
  Scene scene(srtf, {.cluster = "1x1"});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 3, 1, 2)});

  scene.run();

  EXPECT_EQ(scene.finish(2), 5);
  EXPECT_EQ(scene.finish(1), 12);
}

TEST(Srtf, LetsARunningJobFinishThatHasLessLeft) {
  Scene scene(srtf, {.cluster = "1x1"});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 7, 1, 4)});

  scene.run();

  EXPECT_EQ(scene.finish(1), 10);
  EXPECT_EQ(scene.finish(2), 14);
}

TEST(Srtf, GivesTheOlderJobPrecedenceAtEqualTimeLeft) {
  Scene scene(srtf, {.cluster = "1x1"});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 4, 1, 6)});

  scene.run();

  EXPECT_EQ(scene.finish(1), 10);
}

TEST(Srtf, SkipsWhatDoesNotFit) {
  Scene scene(srtf, {.cluster = "1x4"});
  scene.submit({linear_job(1, 0, 3, 2), linear_job(2, 0, 2, 3), linear_job(3, 0, 1, 9)});

  scene.run_until(1);

  EXPECT_EQ(scene.share(1), 3);
  EXPECT_EQ(scene.share(2), 0);
  EXPECT_EQ(scene.share(3), 1);
}

TEST(Srtf, DoesNotTradePlacesBecauseOfThePauseOfAStart) {
  Scene scene(srtf, {.cluster = "1x1", .accounting = ResizeCostModel::Artifact});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 0, 1, 11), linear_job(3, 1, 1, 50)});

  scene.run();

  EXPECT_EQ(scene.starts(), 3);
}

TEST(Srtf, TakesUpAJobThatLostItsWorkers) {
  Scene scene(srtf, {.cluster = "2x1"});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 0, 1, 20)});

  scene.run_until(5);
  scene.set_node(NodeId{0}, false);
  scene.run();

  EXPECT_EQ(scene.finish(1), 10);
  EXPECT_EQ(scene.finish(2), 25);
}

TEST(Srtf, ReordersAfterAMeasurement) {
  Scene scene(srtf, {.cluster = "1x1"});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 1, 1, 12)});

  scene.run_until(2);
  scene.measure(1, 0.5);  // 8 steps left take 16 s.
  scene.run();

  EXPECT_EQ(scene.finish(2), 14);
  EXPECT_EQ(scene.finish(1), 30);
}

TEST(Srtf, KeepsTheOrderAfterAMeasurementThatChangesLittle) {
  Scene scene(srtf, {.cluster = "1x1"});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 1, 1, 12)});

  scene.run_until(2);
  scene.measure(1, 0.8);  // 8 steps left take 10 s.
  scene.run();

  EXPECT_EQ(scene.finish(1), 12);
}

TEST(Srtf, ContinuesFromASavedState) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SceneOptions options{
        .cluster = "2x4", .slot_seconds = 2, .accounting = ResizeCostModel::Physical};
    Scene kept(srtf, options);
    options.reloads = true;
    Scene reloaded(srtf, options);
    kept.submit(random_gangs(seed, kSrtfLimits));
    reloaded.submit(random_gangs(seed, kSrtfLimits));

    kept.run();
    reloaded.run();

    ASSERT_EQ(kept.finishes(), reloaded.finishes()) << "seed " << seed;
  }
}

// The definition in the header, without pauses.
std::map<JobId, int> shares_by_definition(Scene& scene) {
  const View view = scene.view();
  std::vector<std::tuple<Duration, Instant, JobId, int>> order;
  view.jobs.for_each([&](const JobState& job) {
    const rounds::Gang gang = *rounds::gang_of(job, view);
    order.emplace_back(rounds::run_time_left(job, gang, view), job.job.arrival, job.id(),
                       gang.workers);
  });
  std::ranges::sort(order);
  int free = view.capacity[0];
  std::map<JobId, int> shares;
  for (const auto& [left, arrival, id, workers] : order) {
    shares[id] = workers <= free ? workers : 0;
    free -= shares[id];
  }
  return shares;
}

TEST(Srtf, EqualsTheSortedWalkOnRandomJobs) {
  int rounds = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Scene scene(srtf, {.cluster = "2x4", .slot_seconds = seed % 2 == 0 ? 0.0 : 3.0});
    scene.submit(random_gangs(seed, kSrtfLimits));
    scene.watch([&] {
      ASSERT_EQ(scene.shares(), shares_by_definition(scene)) << "seed " << seed;
      ++rounds;
    });

    scene.run();

    ASSERT_EQ(scene.finishes().size(), 14U);
  }
  EXPECT_GT(rounds, 3000);
}

}  // namespace
}  // namespace rubato::policy::baseline
