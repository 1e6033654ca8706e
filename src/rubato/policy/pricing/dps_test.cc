#include "rubato/policy/pricing/dps.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::pricing {
namespace {

Result<std::unique_ptr<Policy>> dps() { return make_dps(PolicyOptions{}); }

Job worth(double amount, double knee, double decay, Job job) {
  job.job_class = JobClass::BestEffort;
  job.value = {.kind = ValueKind::LinearAfterDeadline,
               .amount = amount,
               .decay = decay,
               .knee = from_seconds(knee)};
  return job;
}

TEST(Dps, RunsAJobOnceWithoutABreak) {
  Scene scene(dps, {.cluster = "2x4"});
  scene.submit({worth(50, 100, 1, linear_job(1, 0, 1, 80)),
                worth(50, 100, 1, linear_job(2, 1, 1, 80)),
                worth(50, 100, 1, linear_job(3, 2, 1, 80))});

  scene.run();

  EXPECT_EQ(scene.starts(), 3);
  for (const std::uint64_t id : {1U, 2U, 3U}) {
    EXPECT_GT(scene.finish(id), 0) << id;
  }
}

TEST(Dps, ChoosesTheEdgeForWhoIsInAHurryAndTheCloudForWhoIsWide) {
  Scene scene(dps, {.cluster = "1x2@edge/1+1x8@cloud/50"});
  Job hurry = worth(50, 20, 5, linear_job(1, 0, 1, 20));
  Job wide = worth(500, 120, 10, linear_job(2, 0, 1, 400));
  hurry.region = wide.region = "home";
  hurry.data_gb = wide.data_gb = 1;
  scene.submit({hurry, wide});

  scene.run_until(60);
  EXPECT_EQ(scene.jobs().at(JobId{2}).pool(), PoolId{1});
  scene.run();

  EXPECT_LE(scene.finish(1), 21);
  EXPECT_LE(scene.finish(2), 120);
}

// Everybody else says the truth; one job says what it likes about value and deadline.
double gain(std::uint64_t seed, double value_factor, double knee_shift) {
  Random random(seed);
  Scene scene(dps, {.cluster = "2x2"});
  constexpr std::uint64_t kLiar = 5;
  Job liar;
  for (std::uint64_t id = 1; id <= kLiar; ++id) {
    Job job = worth(random.uniform(5, 100), random.uniform(10, 100), random.uniform(0.1, 2),
                    linear_job(id, static_cast<double>(id), 1, random.uniform(10, 120)));
    if (id == kLiar) {
      liar = job;
      job.value.amount *= value_factor;
      job.value.knee = std::max(Duration{}, job.value.knee + from_seconds(knee_shift));
    }
    scene.submit(job);
  }
  scene.run();
  const Verdict& verdict = scene.verdict(kLiar);
  if (verdict.kind != VerdictKind::Admit) {
    return 0;
  }
  return liar.value.at(at_seconds(scene.finish(kLiar)) - liar.arrival) - verdict.payment;
}

TEST(Dps, MakesNoMisreportProfitable) {
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed + 1000);
    const double honest = gain(seed, 1, 0);
    ASSERT_GE(honest, 0) << "seed " << seed;
    refused += honest == 0 ? 1 : 0;
    for (int lie = 0; lie < 4; ++lie) {
      // The run ends before its window does, by less than a step; the rest is honest arithmetic.
      ASSERT_LE(gain(seed, random.uniform(0.1, 5), random.uniform(-50, 50)), honest + 1e-6)
          << "seed " << seed;
    }
  }
  EXPECT_LT(refused, 1000);  // Else there was too little to lie about.
}

TEST(Dps, LetsPlainJobsWaitWithoutPaying) {
  Scene scene(dps);
  std::vector<Job> jobs;
  for (std::uint64_t id = 1; id <= 30; ++id) {
    jobs.push_back(linear_job(id, 0, 1, 100));
    jobs.back().job_class = JobClass::BestEffort;
  }
  scene.submit(jobs);

  scene.run();

  for (std::uint64_t id = 1; id <= 30; ++id) {
    EXPECT_EQ(scene.verdict(id).kind, VerdictKind::Admit) << id;
    EXPECT_GT(scene.finish(id), 0) << id;
  }
  EXPECT_LE(scene.finish(30), 30 * 100 / 4 * 2);
}

}  // namespace
}  // namespace rubato::policy::pricing
