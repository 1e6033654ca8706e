#include "rubato/policy/baseline/backfill.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/policy/testing/policy_scene.h"
#include "rubato/policy/testing/random_gangs_test.h"

namespace rubato::policy::baseline {
namespace {

Scene::Make backfill(std::string_view options = "") {
  return [text = std::string(options)] { return make_backfill(*PolicyOptions::parse(text)); };
}

constexpr GangLimits kBackfillLimits{.jobs = 12, .arrival = 20, .gpus = 6, .seconds = 12};

// The wide job has the first pool from 10 on; a job of 20 s would be in its way there, but not in
// the second pool, and one that ends in time may use the first.
TEST(Backfill, ReservesAndFillsPoolByPool) {
  Scene scene(backfill(), {.cluster = "1x8:a+1x2:b"});
  scene.submit({linear_job(1, 0, 6, 10), linear_job(2, 1, 8, 10), linear_job(3, 2, 2, 20),
                linear_job(4, 2, 2, 5)});

  scene.run_until(2);

  EXPECT_EQ(scene.share(2), 0);
  EXPECT_EQ(scene.jobs().at(JobId{3}).pool(), PoolId{1});
  EXPECT_EQ(scene.share(3), 2);
  EXPECT_EQ(scene.jobs().at(JobId{4}).pool(), PoolId{0});
  EXPECT_EQ(scene.share(4), 2);
}

TEST(Backfill, StartsAShortJobInTheGapBeforeAWideOne) {
  Scene scene(backfill(), {.cluster = "1x2"});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 1, 2, 5), linear_job(3, 2, 1, 8)});

  scene.run();

  EXPECT_EQ(scene.finish(3), 10);
  EXPECT_EQ(scene.finish(2), 15);
}

TEST(Backfill, DoesNotStartAJobThatWouldDelayAReservation) {
  Scene scene(backfill(), {.cluster = "1x2"});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 1, 2, 5), linear_job(3, 2, 1, 9)});

  scene.run();

  EXPECT_EQ(scene.finish(2), 15);
  EXPECT_EQ(scene.finish(3), 24);
}

TEST(Backfill, RespectsTheReservationsOfAllAheadNotOnlyOfTheFirst) {
  // Job 3 is to run on 1 GPU during [15, 25); easy backfill would let job 4 take it from 2 on.
  Scene scene(backfill(), {.cluster = "1x3"});
  scene.submit({linear_job(1, 0, 2, 10), linear_job(2, 1, 3, 5), linear_job(3, 1, 2, 10),
                linear_job(4, 2, 1, 9)});

  scene.run();

  EXPECT_EQ(scene.finish(2), 15);
  EXPECT_EQ(scene.finish(3), 25);
  EXPECT_EQ(scene.finish(4), 24);
}

TEST(Backfill, CountsThePauseOfAStart) {
  // A start of a model nobody measured takes 3.904 s, so job 1 ends at 13.904. Job 3 would fit
  // into the gap without its own pause.
  Scene scene(backfill(), {.cluster = "1x2", .accounting = ResizeCostModel::Physical});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 1, 2, 5), linear_job(3, 2, 1, 11)});

  scene.run();

  EXPECT_NEAR(scene.finish(2), 13.904 + 8.904, 1e-6);
  EXPECT_GT(scene.finish(3), scene.finish(2));
}

TEST(Backfill, LooksNoDeeperThanTold) {
  Scene scene(backfill("depth=1"), {.cluster = "1x2"});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 1, 2, 5), linear_job(3, 2, 1, 8)});

  scene.run();

  EXPECT_EQ(scene.finish(3), 23);
}

TEST(Backfill, ReadsItsOptions) {
  EXPECT_TRUE(backfill("depth=5")().ok());
  EXPECT_FALSE(backfill("depth=0")().ok());
  EXPECT_FALSE(backfill("deep=5")().ok());
}

TEST(Backfill, PassesOverAJobThatWaitsForLostMachines) {
  Scene scene(backfill(), {.cluster = "2x1"});
  scene.run_until(0);
  scene.set_node(NodeId{1}, false);
  scene.submit({linear_job(1, 0, 2, 10), linear_job(2, 0, 1, 4)});

  scene.run();

  EXPECT_EQ(scene.finish(1), -1);
  EXPECT_EQ(scene.finish(2), 4);
}

TEST(Backfill, ContinuesFromASavedState) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SceneOptions options{
        .cluster = "2x3", .slot_seconds = 2, .accounting = ResizeCostModel::Physical};
    Scene kept(backfill(), options);
    options.reloads = true;
    Scene reloaded(backfill(), options);
    kept.submit(random_gangs(seed, kBackfillLimits));
    reloaded.submit(random_gangs(seed, kBackfillLimits));

    kept.run();
    reloaded.run();

    ASSERT_EQ(kept.finishes(), reloaded.finishes()) << "seed " << seed;
  }
}

// Each job is laid, at its arrival, on the first free stretch of a grid of seconds, and stays
// there: with exact estimates nobody's reservation ever moves.
std::map<JobId, Instant> finishes_as_reserved(std::vector<Job> jobs, int gpus) {
  std::ranges::sort(jobs, {}, [](const Job& job) { return std::pair(job.arrival, job.id); });
  std::vector<int> used(1000, 0);
  std::map<JobId, Instant> finishes;
  for (const Job& job : jobs) {
    const auto span = static_cast<std::size_t>(job.work / job.requested);
    auto start = static_cast<std::size_t>(to_seconds(job.arrival));
    const auto fits = [&](std::size_t from) {
      return std::all_of(used.begin() + static_cast<std::ptrdiff_t>(from),
                         used.begin() + static_cast<std::ptrdiff_t>(from + span),
                         [&](int taken) { return taken + job.requested <= gpus; });
    };
    while (!fits(start)) {
      ++start;
    }
    for (std::size_t second = start; second < start + span; ++second) {
      used[second] += job.requested;
    }
    finishes[job.id] = at_seconds(static_cast<double>(start + span));
  }
  return finishes;
}

TEST(Backfill, EqualsReservationsOnAGridOfSeconds) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const std::vector<Job> jobs = random_gangs(seed, kBackfillLimits);
    Scene scene(backfill(), {.cluster = "1x6"});
    scene.submit(jobs);

    scene.run();

    ASSERT_EQ(scene.finishes(), finishes_as_reserved(jobs, 6)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::policy::baseline
