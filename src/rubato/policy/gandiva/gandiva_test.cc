#include "rubato/policy/gandiva/gandiva.h"

#include <cmath>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::gandiva {
namespace {

Scene::Make gandiva(GandivaOptions options = {}) {
  return [options] { return Result<std::unique_ptr<Policy>>(make_gandiva(options)); };
}

Job growable(Job job) {
  job.workers = {.min = 1, .max = 4};
  return job;
}

TEST(Gandiva, LetsJobsOfAFullNodeTakeTurns) {
  Scene scene(gandiva(), {.cluster = "1x4", .reloads = true});
  scene.submit({linear_job(1, 0, 4, 90), linear_job(2, 0, 4, 90)});

  scene.run_until(30);
  EXPECT_EQ(scene.share(1), 4);
  EXPECT_EQ(scene.share(2), 0);
  scene.run_until(90);
  EXPECT_EQ(scene.share(1), 0);
  EXPECT_EQ(scene.share(2), 4);
  scene.run();

  EXPECT_EQ(scene.finish(1), 150);
  EXPECT_EQ(scene.finish(2), 180);
}

TEST(Gandiva, GivesTimeByWeight) {
  Scene scene(gandiva(), {.cluster = "1x1"});
  Job heavy = linear_job(1, 0, 1, 1e6);
  heavy.weight = 3;
  scene.submit({heavy, linear_job(2, 0, 1, 1e6)});

  scene.run_until(8 * 60 * 100);

  const double first = scene.jobs().at(JobId{1}).progress.at(at_seconds(8 * 60 * 100));
  const double second = scene.jobs().at(JobId{2}).progress.at(at_seconds(8 * 60 * 100));
  EXPECT_NEAR(first / second, 3, 0.05);
}

TEST(Gandiva, StopsNobodyInsideItsTurn) {
  Scene scene(gandiva(), {.cluster = "1x4"});
  scene.submit({linear_job(1, 0, 4, 50), linear_job(2, 10, 4, 50)});

  scene.run();

  EXPECT_EQ(scene.finish(1), 50);
  EXPECT_EQ(scene.finish(2), 100);
  EXPECT_EQ(scene.starts(), 2);
}

TEST(Gandiva, MovesAWaitingJobToTheGpusOfOneThatLeft) {
  Scene scene(gandiva(), {.cluster = "2x2"});
  // The third takes turns with the first or second until the one that is alone is over.
  scene.submit({linear_job(1, 0, 2, 30), linear_job(2, 0, 2, 1000), linear_job(3, 1, 2, 30)});

  scene.run();

  EXPECT_EQ(scene.finish(1), 30);
  EXPECT_EQ(scene.finish(3), 60);
  EXPECT_EQ(scene.finish(2), 1000);
}

TEST(Gandiva, AQueuedJobTakesTurnsWithAnyoneInTheEnd) {
  Scene scene(gandiva({.patience = std::chrono::seconds{100}}), {.cluster = "2x2"});
  scene.submit({linear_job(1, 0, 2, 1e5), linear_job(2, 0, 2, 1e5), linear_job(3, 0, 4, 10)});

  scene.run_until(99);
  EXPECT_EQ(scene.jobs().at(JobId{3}).first_start, kNever);
  scene.run_until(300);

  EXPECT_GT(scene.finish(3), 100);
}

TEST(Gandiva, GrowsIntoLongIdleGpusAndShrinksAtOnce) {
  Scene scene(gandiva({.grow_delay = std::chrono::seconds{100}}),
              {.cluster = "1x4", .reloads = true});
  scene.submit({growable(linear_job(1, 0, 1, 1e4)), linear_job(2, 500, 2, 1e4)});

  scene.run_until(99);
  EXPECT_EQ(scene.share(1), 1);
  scene.run_until(100);
  EXPECT_EQ(scene.share(1), 4);
  scene.run_until(500);
  EXPECT_EQ(scene.share(1), 1);
  EXPECT_EQ(scene.share(2), 2);
  scene.run_until(600);
  EXPECT_EQ(scene.share(1), 2);
}

TEST(Gandiva, GrowsOnlyThoseWhoSaidSo) {
  Scene asked(gandiva(), {.cluster = "1x4"});
  Scene forbidden(gandiva({.grow = false}), {.cluster = "1x4"});
  asked.submit(linear_job(1, 0, 1, 1e4));
  forbidden.submit(growable(linear_job(1, 0, 1, 1e4)));

  asked.run();
  forbidden.run();

  EXPECT_EQ(asked.finish(1), 1e4);
  EXPECT_EQ(forbidden.finish(1), 1e4);
}

TEST(Gandiva, SurvivesTheLossOfNodes) {
  Scene scene(gandiva(), {.cluster = "2x2", .reloads = true});
  scene.submit({linear_job(1, 0, 2, 100), linear_job(2, 0, 2, 100), linear_job(3, 0, 4, 100)});
  scene.run_until(10);
  scene.set_node(NodeId{0}, false);
  scene.run_until(100);
  scene.set_node(NodeId{0}, true);

  scene.run();

  EXPECT_EQ(scene.finishes().size(), 3U);
}

TEST(Gandiva, UsesSeveralPools) {
  std::vector<SpeedRow> speeds = linear_speeds("fast");
  const std::vector<SpeedRow> more = linear_speeds("slow");
  speeds.insert(speeds.end(), more.begin(), more.end());
  Scene scene(gandiva(), {.cluster = "1x2:fast+1x4:slow", .speeds = speeds, .reloads = true});
  Job slow = linear_job(2, 0, 2, 50);
  slow.gpu_type = "slow";
  scene.submit({linear_job(1, 0, 2, 50), slow, linear_job(3, 0, 4, 10)});

  scene.run();

  EXPECT_EQ(scene.finish(1), 50);
  EXPECT_EQ(scene.finishes().size(), 3U);
}

// On one node of one GPU each turns are shared to within a turn, whatever order jobs come in.
TEST(Gandiva, EqualJobsOfOneGpuHaveEqualTime) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const auto jobs = static_cast<std::uint64_t>(random.integer(2, 6));
    Scene scene(gandiva(), {.cluster = "1x1"});
    double last = 0;
    for (std::uint64_t id = 1; id <= jobs; ++id) {
      last = std::floor(random.uniform(0, 100));
      scene.submit(linear_job(id, last, 1, 1e6));
    }
    scene.run_until(100);
    std::vector<double> before;
    for (std::uint64_t id = 1; id <= jobs; ++id) {
      before.push_back(scene.jobs().at(JobId{id}).progress.at(at_seconds(100)));
    }
    scene.run_until(100 + 60.0 * 10 * static_cast<double>(jobs));

    for (std::uint64_t id = 1; id <= jobs; ++id) {
      const JobState& job = scene.jobs().at(JobId{id});
      const Instant now = at_seconds(100 + 60.0 * 10 * static_cast<double>(jobs));
      ASSERT_NEAR(job.progress.at(now) - before[id - 1], 600, 200) << "seed " << seed;
    }
  }
}

TEST(Gandiva, FinishesEverythingAndNeverStandsIdle) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    Scene scene(
        gandiva(),
        {.cluster = "3x4", .slot_seconds = seed % 2 == 0 ? 0.0 : 5.0, .reloads = seed % 3 == 0});
    for (std::uint64_t id = 1; id <= 15; ++id) {
      Job job =
          linear_job(id, random.uniform(0, 500), 1 << random.integer(0, 3), random.uniform(1, 400));
      scene.submit(random.chance(0.3) ? growable(job) : job);
    }

    scene.run();

    ASSERT_EQ(scene.finishes().size(), 15U) << "seed " << seed;
  }
}

TEST(Gandiva, ReadsItsOptions) {
  const auto made = [](std::string_view text) {
    return make_gandiva(PolicyOptions::parse(text).value());
  };

  EXPECT_TRUE(made("turn=30,patience=5,grow_delay=1,grow=false").ok());
  EXPECT_FALSE(made("turn=0").ok());
  EXPECT_FALSE(made("grow=perhaps").ok());
  EXPECT_FALSE(made("turns=3").ok());
}

}  // namespace
}  // namespace rubato::policy::gandiva
