#include "rubato/policy/baseline/fifo.h"

#include <algorithm>
#include <iterator>

#include <gtest/gtest.h>

#include "rubato/policy/testing/policy_scene.h"
#include "rubato/policy/testing/random_gangs_test.h"

namespace rubato::policy::baseline {
namespace {

Result<std::unique_ptr<Policy>> fifo() { return make_fifo(PolicyOptions{}); }

constexpr GangLimits kFifoLimits{.jobs = 12, .arrival = 20, .gpus = 4, .seconds = 9};

TEST(Fifo, StartsJobsInTheOrderOfTheirArrival) {
  Scene scene(fifo, {.cluster = "1x2"});
  scene.submit({linear_job(1, 0, 2, 5), linear_job(2, 1, 1, 3), linear_job(3, 2, 1, 4)});

  scene.run();

  EXPECT_EQ(scene.finish(1), 5);
  EXPECT_EQ(scene.finish(2), 8);
  EXPECT_EQ(scene.finish(3), 9);
}

TEST(Fifo, LetsTheFirstInLineBlockEveryoneBehind) {
  Scene scene(fifo, {.cluster = "1x2"});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 1, 2, 1), linear_job(3, 2, 1, 1)});

  scene.run();

  EXPECT_EQ(scene.finish(2), 11);
  EXPECT_EQ(scene.finish(3), 12);
}

// The second job fits only into the wide pool and so keeps others out of it, but not out of the
// narrow one.
TEST(Fifo, BlocksOnlyThePoolsInWhichTheFirstInLineCouldRun) {
  Scene scene(fifo, {.cluster = "1x8:a+1x2:b"});
  scene.submit({linear_job(1, 0, 4, 10), linear_job(2, 1, 6, 10), linear_job(3, 2, 2, 1),
                linear_job(4, 2, 4, 1)});

  scene.run_until(2);

  EXPECT_EQ(scene.shares(),
            (std::map<JobId, int>{{JobId{1}, 4}, {JobId{2}, 0}, {JobId{3}, 2}, {JobId{4}, 0}}));
  EXPECT_EQ(scene.jobs().at(JobId{3}).pool(), PoolId{1});
}

TEST(Fifo, WaitsForTheSlotBetweenTwoRounds) {
  Scene scene(fifo, {.cluster = "1x2", .slot_seconds = 60});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 1, 1, 10)});

  scene.run();

  EXPECT_EQ(scene.finish(1), 10);
  EXPECT_EQ(scene.finish(2), 70);
}

TEST(Fifo, AsksForNoRoundWhenNobodyWaits) {
  Scene scene(fifo);
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 0, 1, 20)});

  scene.run();

  EXPECT_EQ(scene.rounds(), 1);
}

TEST(Fifo, RunsAJobThatAsksForTooMuchOnAllGpus) {
  Scene scene(fifo, {.cluster = "1x4"});
  scene.submit(linear_job(1, 0, 8, 5));

  scene.run();

  EXPECT_EQ(scene.finish(1), 10);
}

TEST(Fifo, RefusesAJobThatNeedsMoreWorkersThanThereAre) {
  Scene scene(fifo, {.cluster = "1x4"});
  Job wide = linear_job(1, 0, 8, 5);
  wide.workers.min = 8;
  scene.submit(wide);

  scene.run();

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Refuse);
  EXPECT_EQ(scene.verdict(1).reason, Reason::TooWide);
}

TEST(Fifo, RefusesAJobWhoseGpuTypeIsNotThere) {
  Scene scene(fifo, {.cluster = "1x4:T4", .speeds = linear_speeds("T4")});
  Job picky = linear_job(1, 0, 1, 5);
  picky.gpu_type = "A100";
  scene.submit(picky);

  scene.run();

  EXPECT_EQ(scene.verdict(1).reason, Reason::UnknownSpeed);
}

TEST(Fifo, TakesTheFirstPoolThatIsWideEnough) {
  std::vector<SpeedRow> speeds = linear_speeds("T4");
  std::ranges::copy(linear_speeds("A100"), std::back_inserter(speeds));
  Scene scene(fifo, {.cluster = "1x2:T4+1x4:A100", .speeds = speeds});
  scene.submit({linear_job(1, 0, 2, 5), linear_job(2, 0, 4, 5), linear_job(3, 0, 1, 5)});

  scene.run();

  EXPECT_EQ(scene.finish(1), 5);
  EXPECT_EQ(scene.finish(2), 5);
  EXPECT_EQ(scene.finish(3), 10);  // Behind job 1 in the first pool.
}

TEST(Fifo, StartsAJobAgainAfterAFault) {
  Scene scene(fifo, {.cluster = "2x1"});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 0, 1, 4)});

  scene.run_until(2);
  scene.set_node(NodeId{0}, false);  // Job 1 loses its worker and waits for job 2.
  scene.run();

  EXPECT_EQ(scene.finish(2), 4);
  EXPECT_EQ(scene.finish(1), 12);
}

TEST(Fifo, ResumesWhenANodeComesBack) {
  Scene scene(fifo, {.cluster = "1x1"});
  scene.submit(linear_job(1, 0, 1, 10));

  scene.run_until(2);
  scene.set_node(NodeId{0}, false);
  scene.run_until(5);
  scene.set_node(NodeId{0}, true);
  scene.run();

  EXPECT_EQ(scene.finish(1), 13);
}

TEST(Fifo, ContinuesFromASavedState) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Scene kept(fifo, {.slot_seconds = 2});
    Scene reloaded(fifo, {.slot_seconds = 2, .reloads = true});
    kept.submit(random_gangs(seed, kFifoLimits));
    reloaded.submit(random_gangs(seed, kFifoLimits));

    kept.run();
    reloaded.run();

    ASSERT_EQ(kept.finishes(), reloaded.finishes()) << "seed " << seed;
  }
}

TEST(Fifo, RefusesAStateThatIsNotItsOwn) {
  auto policy = fifo().value();

  EXPECT_FALSE(policy->load("round x\n").ok());
  EXPECT_FALSE(policy->load("queue 1 2\n").ok());
}

// Starts in order of arrival, each as soon as its GPUs are free and its forerunner has started.
std::map<JobId, Instant> finishes_in_order(std::vector<Job> jobs, int gpus) {
  std::ranges::sort(jobs, {}, [](const Job& job) { return std::pair(job.arrival, job.id); });
  std::map<JobId, Instant> finishes;
  std::vector<Instant> gpu_free(static_cast<std::size_t>(gpus), Instant{});
  Instant start{};
  for (const Job& job : jobs) {
    std::ranges::sort(gpu_free);
    const auto needed = static_cast<std::size_t>(job.requested);
    start = std::max({start, job.arrival, gpu_free[needed - 1]});
    finishes[job.id] = start + from_seconds(job.work / job.requested);
    std::fill_n(gpu_free.begin(), needed, finishes[job.id]);
  }
  return finishes;
}

TEST(Fifo, EqualsTheClosedFormOnRandomJobs) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const std::vector<Job> jobs = random_gangs(seed, kFifoLimits);
    Scene scene(fifo);
    scene.submit(jobs);

    scene.run();

    ASSERT_EQ(scene.finishes(), finishes_in_order(jobs, 4)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::policy::baseline
