#include "rubato/policy/first_come/first_come.h"

#include <algorithm>
#include <iterator>

#include <gtest/gtest.h>

#include "rubato/policy/registry.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::first_come {
namespace {

auto default_first_come() { return make_policy("first-come"); }

std::vector<Job> random_first_come_jobs(std::uint64_t seed) {
  Random random(seed);
  std::vector<Job> jobs;
  for (std::uint64_t id = 1; id <= 8; ++id) {
    jobs.push_back(linear_job(id, static_cast<double>(random.integer(0, 9)), 1,
                              static_cast<double>(random.integer(1, 30))));
  }
  return jobs;
}

TEST(FirstCome, GivesTheFirstInLineWhatTheOthersLeave) {
  Scene scene(default_first_come, {.cluster = "1x4"});
  scene.submit({linear_job(1, 0, 1, 10), linear_job(2, 1, 1, 6)});

  scene.run();

  EXPECT_EQ(scene.finish(1), 3);  // 4 steps on 4 GPUs, then 6 on 3.
  EXPECT_EQ(scene.finish(2), 4);  // 2 steps on 1 GPU, then 4 on 4.
}

TEST(FirstCome, WaitsForTheSlotBetweenTwoRounds) {
  Scene scene(default_first_come, {.cluster = "1x4", .slot_seconds = 60});
  scene.submit({linear_job(1, 0, 1, 400), linear_job(2, 1, 1, 10)});

  scene.run();

  EXPECT_EQ(scene.finish(2), 70);
}

TEST(FirstCome, GivesNobodyMoreThanTheMost) {
  const auto make_narrow = [] { return make_policy("first-come:workers_max=2"); };
  Scene scene(make_narrow, {.cluster = "1x4"});
  scene.submit(linear_job(1, 0, 1, 10));

  scene.run();

  EXPECT_EQ(scene.finish(1), 5);
}

TEST(FirstCome, RefusesOptionsItCannotFollow) {
  EXPECT_FALSE(make_policy("first-come:workers_max=0").ok());
  EXPECT_FALSE(make_policy("first-come:workers_most=2").ok());
}

TEST(FirstCome, RefusesAJobThatCanRunNowhere) {
  Scene scene(default_first_come, {.cluster = "1x4"});
  Job wide = linear_job(1, 0, 8, 5);
  wide.workers.min = 8;
  scene.submit(wide);

  scene.run();

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Refuse);
  EXPECT_EQ(scene.verdict(1).reason, Reason::TooWide);
}

TEST(FirstCome, UsesAllPools) {
  std::vector<SpeedRow> speeds = linear_speeds("T4");
  std::ranges::copy(linear_speeds("A100"), std::back_inserter(speeds));
  Scene scene(default_first_come, {.cluster = "1x2:T4+1x4:A100", .speeds = speeds});
  scene.submit({linear_job(1, 0, 2, 5), linear_job(2, 0, 4, 5)});

  scene.run();

  EXPECT_EQ(scene.finish(1), 5);
  EXPECT_EQ(scene.finish(2), 5);
}

TEST(FirstCome, GoesOnAfterANodeIsLost) {
  Scene scene(default_first_come, {.cluster = "2x1"});
  scene.submit(linear_job(1, 0, 1, 10));

  scene.run_until(2);
  scene.set_node(NodeId{0}, false);
  scene.run();

  EXPECT_EQ(scene.finish(1), 8);  // 4 steps on 2 GPUs, then 6 on 1.
}

TEST(FirstCome, ContinuesFromASavedState) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Scene kept(default_first_come, {.slot_seconds = 2});
    Scene reloaded(default_first_come, {.slot_seconds = 2, .reloads = true});
    kept.submit(random_first_come_jobs(seed));
    reloaded.submit(random_first_come_jobs(seed));

    kept.run();
    reloaded.run();

    ASSERT_EQ(kept.finishes(), reloaded.finishes()) << "seed " << seed;
  }
}

TEST(FirstCome, RefusesAStateThatIsNotItsOwn) {
  auto policy = default_first_come().value();

  EXPECT_FALSE(policy->load("round x\n").ok());
  EXPECT_FALSE(policy->load("queue 1 2\n").ok());
}

// With speeds that grow with the GPUs the first of n jobs has all but one for each of the others.
std::map<JobId, int> first_come_shares(const JobTable& jobs, int gpus) {
  std::vector<std::pair<Instant, JobId>> line;
  jobs.for_each([&](const JobState& job) { line.emplace_back(job.job.arrival, job.id()); });
  std::ranges::sort(line);
  std::map<JobId, int> shares;
  int left = gpus;
  for (const auto& [arrival, job] : line) {
    shares[job] = left > 0 ? 1 : 0;
    left -= shares[job];
  }
  if (!line.empty()) {
    shares[line.front().second] += left;
  }
  return shares;
}

TEST(FirstCome, EqualsTheClosedFormAtEveryRoundOfRandomJobs) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Scene scene(default_first_come, {.cluster = "1x6"});
    scene.submit(random_first_come_jobs(seed));
    scene.watch([&] { ASSERT_EQ(scene.shares(), first_come_shares(scene.jobs(), 6)); });

    scene.run();

    ASSERT_EQ(scene.finishes().size(), 8U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::policy::first_come
