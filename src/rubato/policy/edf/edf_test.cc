#include "rubato/policy/edf/edf.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include <gtest/gtest.h>

#include "rubato/policy/testing/elastic_scene_test.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::edf {
namespace {

Result<std::unique_ptr<Policy>> edf() { return make_edf(PolicyOptions{}); }

TEST(Edf, RunsTheEarliestDeadlineOnAllGpusItCanUse) {
  Scene scene(edf, {.cluster = "1x4"});
  scene.submit({due_at(50, linear_job(1, 0, 1, 40)), due_at(20, linear_job(2, 0, 1, 20))});

  scene.run();

  EXPECT_EQ(scene.finish(2), 5);
  EXPECT_EQ(scene.finish(1), 15);
}

TEST(Edf, StopsAtTheSpeedPeak) {
  Scene scene(edf, {.cluster = "1x8", .speeds = concave_speeds()});
  scene.submit({due_at(9, linear_job(1, 0, 1, 8)), due_at(9, linear_job(2, 0, 1, 8))});

  scene.run_until(1);

  EXPECT_EQ(scene.share(1), 4);
  EXPECT_EQ(scene.share(2), 4);
}

TEST(Edf, GivesTheNextJobTheMeasuredCountThatFits) {
  Scene scene(edf, {.cluster = "1x7", .speeds = concave_speeds()});
  scene.submit({due_at(9, linear_job(1, 0, 1, 80)), due_at(10, linear_job(2, 0, 1, 80)),
                due_at(11, linear_job(3, 0, 1, 80)), due_at(12, linear_job(4, 0, 1, 80))});

  scene.run_until(1);

  EXPECT_EQ(scene.share(2), 2);
  EXPECT_EQ(scene.share(3), 1);
  EXPECT_EQ(scene.share(4), 0);
}

TEST(Edf, SkipsAJobForWhichTooFewGpusAreLeft) {
  Scene scene(edf, {.cluster = "1x6", .speeds = concave_speeds()});
  Job wide = due_at(10, linear_job(2, 0, 4, 80));
  wide.workers.min = 4;
  scene.submit({due_at(9, linear_job(1, 0, 1, 80)), wide, due_at(11, linear_job(3, 0, 1, 80))});

  scene.run_until(1);

  EXPECT_EQ(scene.share(2), 0);
  EXPECT_EQ(scene.share(3), 2);
}

TEST(Edf, StopsALaterDeadlineForAnEarlierOne) {
  Scene scene(edf, {.cluster = "1x1"});
  scene.submit({due_at(90, linear_job(1, 0, 1, 10)), due_at(9, linear_job(2, 2, 1, 3))});

  scene.run();

  EXPECT_EQ(scene.finish(2), 5);
  EXPECT_EQ(scene.finish(1), 13);
}

TEST(Edf, ServesBestEffortJobsLast) {
  Scene scene(edf, {.cluster = "1x1"});
  scene.submit({best_effort(due_at(1, linear_job(1, 0, 1, 10))), linear_job(2, 1, 1, 5),
                due_at(500, linear_job(3, 1, 1, 5))});

  scene.run();

  EXPECT_EQ(scene.finish(3), 6);
  EXPECT_EQ(scene.finish(1), 15);
  EXPECT_EQ(scene.finish(2), 20);
}

TEST(Edf, TakesTheFasterPool) {
  std::vector<SpeedRow> speeds = concave_speeds("T4");
  std::ranges::copy(concave_speeds("A100", 3), std::back_inserter(speeds));
  Scene scene(edf, {.cluster = "1x4:T4+1x2:A100", .speeds = speeds});
  scene.submit({due_at(9, linear_job(1, 0, 1, 90)), due_at(10, linear_job(2, 0, 1, 90))});

  scene.run_until(1);

  EXPECT_EQ(scene.jobs().at(JobId{1}).pool(), PoolId{1});
  EXPECT_EQ(scene.share(1), 2);
  EXPECT_EQ(scene.jobs().at(JobId{2}).pool(), PoolId{0});
  EXPECT_EQ(scene.share(2), 4);
}

TEST(Edf, StaysInItsPoolWhenAnotherIsJustAsFast) {
  std::vector<SpeedRow> speeds = concave_speeds("T4");
  std::ranges::copy(concave_speeds("A100"), std::back_inserter(speeds));
  Scene scene(edf, {.cluster = "1x4:T4+1x4:A100", .speeds = speeds});
  scene.submit({due_at(9, linear_job(1, 0, 1, 4)), due_at(10, linear_job(2, 0, 1, 90))});

  scene.run_until(3);  // Job 1 has left the first pool at 2.

  EXPECT_EQ(scene.jobs().at(JobId{2}).pool(), PoolId{1});
}

TEST(Edf, RefusesAJobThatCanRunNowhere) {
  Scene scene(edf, {.cluster = "1x4"});
  Job wide = linear_job(1, 0, 8, 5);
  wide.workers.min = 8;
  scene.submit(wide);

  scene.run();

  EXPECT_EQ(scene.verdict(1).reason, Reason::TooWide);
}

TEST(Edf, GoesOnAfterAFault) {
  Scene scene(edf, {.cluster = "2x1"});
  scene.submit({due_at(9, linear_job(1, 0, 1, 8)), due_at(30, linear_job(2, 0, 1, 8))});

  scene.run_until(2);
  scene.set_node(NodeId{1}, false);
  scene.run();

  EXPECT_EQ(scene.finish(1), 6);
  EXPECT_EQ(scene.finish(2), 14);
}

std::vector<Job> random_due_jobs(std::uint64_t seed) {
  Random random(seed);
  std::vector<Job> jobs;
  for (std::uint64_t id = 1; id <= 12; ++id) {
    const double arrival = static_cast<double>(random.integer(0, 30));
    Job job = linear_job(id, arrival, 1, static_cast<double>(random.integer(1, 30)));
    job.deadline = job.arrival + from_seconds(static_cast<double>(random.integer(1, 8)) * 5);
    if (random.chance(0.2)) {
      job.job_class = JobClass::BestEffort;
    }
    jobs.push_back(job);
  }
  return jobs;
}

TEST(Edf, ContinuesFromASavedState) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SceneOptions options{.cluster = "2x4", .slot_seconds = 3, .speeds = concave_speeds()};
    Scene kept(edf, options);
    options.reloads = true;
    Scene reloaded(edf, options);
    kept.submit(random_due_jobs(seed));
    reloaded.submit(random_due_jobs(seed));

    kept.run();
    reloaded.run();

    ASSERT_EQ(kept.finishes(), reloaded.finishes()) << "seed " << seed;
  }
}

// The definition in the header for one pool with the concave curve.
std::map<JobId, int> shares_by_definition(const Scene& scene, int free) {
  std::vector<std::tuple<bool, Instant, Instant, JobId>> order;
  scene.jobs().for_each([&](const JobState& job) {
    const bool last = job.job_class == JobClass::BestEffort;
    order.emplace_back(last, last ? kNever : job.job.deadline, job.job.arrival, job.id());
  });
  std::ranges::sort(order);
  std::map<JobId, int> shares;
  for (const auto& [last, deadline, arrival, id] : order) {
    shares[id] = free >= 4 ? 4 : free >= 2 ? 2 : free;
    free -= shares[id];
  }
  return shares;
}

TEST(Edf, EqualsTheSortedWalkOnRandomJobs) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Scene scene(
        edf,
        {.cluster = "1x11", .slot_seconds = seed % 2 == 0 ? 0.0 : 3.0, .speeds = concave_speeds()});
    scene.submit(random_due_jobs(seed));
    scene.watch([&] { ASSERT_EQ(scene.shares(), shares_by_definition(scene, 11)); });

    scene.run();

    ASSERT_EQ(scene.finishes().size(), 12U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::policy::edf
