#include "rubato/policy/autoscale/autoscale.h"

#include <cmath>

#include <gtest/gtest.h>

#include "rubato/policy/testing/elastic_scene_test.h"

namespace rubato::policy::autoscale {
namespace {

Scene::Make autoscale_with(std::string_view options) {
  return [options] { return make_autoscale(PolicyOptions::parse(options).value()); };
}

// In proportion up to three workers, hardly more beyond.
std::vector<SpeedRow> knee_speeds(int workers_max) {
  std::vector<SpeedRow> rows = falling_speeds("knee", 1.0, workers_max);
  for (SpeedRow& row : rows) {
    row.speed = std::min(row.gpus, 3) + 0.001 * std::max(0, row.gpus - 3);
  }
  return rows;
}

TEST(Autoscale, SettlesAtTheKneeFromEveryStart) {
  for (int start = 1; start <= 8; ++start) {
    Scene scene(autoscale_with("every=100"), {.cluster = "2x4", .speeds = knee_speeds(8)});
    Job job = model_job(1, 0, "knee", 1e6);
    job.requested = start;
    scene.submit(job);

    scene.run_until(16 * 100);

    // 16 decisions at one step per second and more; then it is left alone.
    EXPECT_EQ(scene.share(1), 3) << "from " << start;
    const int rounds = scene.rounds();
    EXPECT_LE(rounds, 17) << "from " << start;
    scene.run_until(50'000);
    EXPECT_EQ(scene.rounds(), rounds);
    EXPECT_EQ(scene.share(1), 3);
  }
}

TEST(Autoscale, PicksTheBestCountByUtility) {
  for (const double price : {0.01, 0.1, 0.5, 2.0}) {
    Scene scene([price] { return make_autoscale({.by_utility = true, .price = price}); },
                {.cluster = "2x4", .speeds = falling_speeds("flat", 0.8, 8)});
    Job job = model_job(1, 0, "flat", 1e6);
    job.value = {.kind = ValueKind::LinearAfterDeadline, .amount = 1e9, .decay = 1};
    scene.submit(job);

    scene.run_until(10'000);

    const auto loss = [&](int workers) {
      return (1 + price * workers) / ((1 - std::pow(0.8, workers)) / 0.2);
    };
    int best = 1;
    for (int workers = 2; workers <= 8; ++workers) {
      best = loss(workers) < loss(best) ? workers : best;
    }
    EXPECT_EQ(scene.share(1), best) << price;
  }
}

TEST(Autoscale, SpawnsInUnits) {
  Scene scene(autoscale_with("spawn=2"), {.cluster = "2x4"});
  Job job = linear_job(1, 0, 1, 1e6);
  job.requested = 3;
  scene.submit(job);
  std::vector<int> seen;
  scene.watch([&] { seen.push_back(scene.share(1)); });

  scene.run_until(2000);

  EXPECT_EQ(seen, (std::vector<int>{2, 4, 6, 8, 8}));
}

TEST(Autoscale, StartsInOrderOfArrivalAndLetsNobodyGrowMeanwhile) {
  Scene scene(autoscale_with(""), {.cluster = "1x4"});
  Job wide = linear_job(2, 1, 3, 1e6);
  wide.workers.min = 3;
  scene.submit({linear_job(1, 0, 2, 1e6), wide, linear_job(3, 2, 1, 1e6)});

  scene.run_until(1000);

  EXPECT_EQ(scene.share(1), 2);
  EXPECT_EQ(scene.share(2), 0);
  EXPECT_EQ(scene.share(3), 0);
}

TEST(Autoscale, StartsOnWhatIsLeftAndTakesWhatItAskedForWhenItCan) {
  Scene scene(autoscale_with("every=1000000"), {.cluster = "1x8"});
  scene.submit({linear_job(1, 0, 5, 100), linear_job(2, 10, 5, 100)});

  scene.run_until(50);
  EXPECT_EQ(scene.share(2), 3);
  scene.run();

  // 90 s on three, the rest of its 500 steps on five.
  EXPECT_EQ(scene.finish(1), 100);
  EXPECT_EQ(scene.finish(2), 146);
}

TEST(Autoscale, GrowsIntoWhatAnotherLeaves) {
  Scene scene(autoscale_with("every=10"), {.cluster = "1x4"});
  scene.submit({linear_job(1, 0, 2, 50), linear_job(2, 0, 2, 1e6)});

  scene.run_until(49);
  EXPECT_EQ(scene.share(2), 2);
  scene.run_until(1000);

  EXPECT_EQ(scene.share(2), 4);
}

TEST(Autoscale, TakesUpItsSizeAfterAFault) {
  Scene scene(autoscale_with(""), {.cluster = "2x4", .speeds = knee_speeds(8)});
  scene.submit(model_job(1, 0, "knee", 1e6));

  scene.run_until(2000);
  scene.set_node(NodeId{0}, false);
  scene.set_node(NodeId{1}, false);
  scene.run_until(2100);
  EXPECT_EQ(scene.share(1), 0);
  scene.set_node(NodeId{0}, true);
  scene.run_until(2101);

  EXPECT_EQ(scene.share(1), 3);
}

TEST(Autoscale, KeepsItsAppointmentAfterAReport) {
  Scene scene(autoscale_with("every=100"), {.cluster = "1x2"});
  scene.submit(linear_job(1, 0, 1, 1e6));

  scene.run_until(50);
  scene.measure(1, 1.0);
  scene.run_until(99);
  EXPECT_EQ(scene.share(1), 1);
  scene.run_until(101);

  EXPECT_EQ(scene.share(1), 2);
}

TEST(Autoscale, DecidesNothingBeforeItHasWhatItAskedFor) {
  Scene scene(autoscale_with("every=10"), {.cluster = "1x8"});
  Job rigid = linear_job(1, 0, 5, 100);
  rigid.workers.listed = {5};
  scene.submit({rigid, linear_job(2, 10, 5, 1000)});

  scene.run_until(99);
  EXPECT_EQ(scene.share(2), 3);
  scene.run_until(100.5);

  EXPECT_EQ(scene.share(2), 5);
}

TEST(Autoscale, ContinuesFromASavedStateAndThroughTheLossOfANode) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    ASSERT_TRUE(reloads_exactly(autoscale_with("every=5,measured=3"), seed)) << "seed " << seed;
    ASSERT_TRUE(reloads_exactly(autoscale_with("metric=utility,every=5"), seed)) << "seed " << seed;
  }
}

TEST(Autoscale, RejectsOptionsItDoesNotKnow) {
  for (const std::string_view text : {"metric=goodput", "spawn=0", "every=0", "knee=3"}) {
    EXPECT_FALSE(make_autoscale(PolicyOptions::parse(text).value()).ok()) << text;
  }
}

}  // namespace
}  // namespace rubato::policy::autoscale
