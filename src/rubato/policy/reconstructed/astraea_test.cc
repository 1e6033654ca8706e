#include "rubato/policy/reconstructed/astraea.h"

#include <map>

#include <gtest/gtest.h>

#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::reconstructed {
namespace {

Scene::Make astraea(const AstraeaOptions& options = {.slot = std::chrono::seconds(1)}) {
  return [options] { return Result<std::unique_ptr<Policy>>(make_astraea(options)); };
}

Job of_tenant(std::string_view tenant, Job job) {
  job.tenant = tenant;
  job.job_class = JobClass::BestEffort;
  return job;
}

Job worth_until_due(double amount, double decay, Job job) {
  job.value = {.kind = ValueKind::LinearAfterDeadline, .amount = amount, .decay = decay};
  return job;
}

const std::vector<TenantShare> kHalfShares = {{"a", 0.5}, {"b", 0.5}};

TEST(Astraea, RunsATenantsJobsInItsReserveForNothing) {
  Scene scene(astraea(), {.cluster = "2x2", .tenants = kHalfShares});
  scene.submit({of_tenant("a", worth_until_due(10, 0.1, linear_job(1, 0, 2, 10))),
                of_tenant("b", worth_until_due(10, 0.1, linear_job(2, 0, 2, 10)))});

  scene.run();

  EXPECT_EQ(scene.finish(1), 11);
  EXPECT_EQ(scene.finish(2), 11);
  EXPECT_EQ(scene.verdict(1).payment, 0);
  EXPECT_EQ(scene.verdict(2).payment, 0);
}

TEST(Astraea, LendsWhatATenantDoesNotUse) {
  Scene scene(astraea(), {.cluster = "2x2", .tenants = kHalfShares});
  scene.submit({of_tenant("a", worth_until_due(100, 5, linear_job(1, 0, 2, 10))),
                of_tenant("a", worth_until_due(100, 5, linear_job(2, 0, 2, 10)))});

  scene.run();

  // The second would have to wait for the first; the other half is free, but costs something.
  EXPECT_EQ(scene.finish(1), 11);
  EXPECT_EQ(scene.finish(2), 11);
  EXPECT_EQ(scene.verdict(1).payment, 0);
  EXPECT_GT(scene.verdict(2).payment, 0);
  EXPECT_LE(scene.verdict(2).payment, 50);  // What it gains by not waiting.
}

TEST(Astraea, LeavesWhoIsInNoHurryInItsOwnReserve) {
  Scene scene(astraea(), {.cluster = "2x2", .tenants = kHalfShares});
  scene.submit({of_tenant("a", worth_until_due(100, 0, linear_job(1, 0, 2, 10))),
                of_tenant("a", worth_until_due(100, 0, linear_job(2, 0, 2, 10)))});

  scene.run();

  EXPECT_EQ(scene.finish(2), 21);
  EXPECT_EQ(scene.verdict(2).payment, 0);
}

TEST(Astraea, LetsATenantWithoutAShareLiveOnHoles) {
  Scene scene(astraea(), {.cluster = "2x2", .tenants = kHalfShares});
  scene.submit({of_tenant("guest", worth_until_due(100, 1, linear_job(1, 0, 2, 10))),
                of_tenant("a", worth_until_due(100, 1, linear_job(2, 0, 2, 10))),
                of_tenant("b", worth_until_due(100, 1, linear_job(3, 0, 2, 10)))});

  scene.run();

  EXPECT_EQ(scene.finish(2), 11);
  EXPECT_EQ(scene.finish(3), 11);
  EXPECT_GT(scene.finish(1), 11);
}

TEST(Astraea, RefusesAHardDeadlineThatHasBecomeImpossible) {
  Scene scene(astraea());
  Job job = due_at(8, linear_job(1, 0, 4, 10));
  scene.submit(job);

  scene.run();

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Refuse);
  EXPECT_EQ(scene.verdict(1).reason, Reason::DeadlineTooSoon);
}

// When each tenant's batch is done.
std::map<std::string, double> batch_ends(const std::vector<Job>& jobs, std::string_view cluster,
                                         const std::vector<TenantShare>& tenants) {
  Scene scene(astraea(), {.cluster = cluster, .tenants = tenants});
  scene.submit(jobs);
  scene.run();
  std::map<std::string, double> ends;
  for (const Job& job : jobs) {
    EXPECT_GT(scene.finish(job.id.value), 0);
    ends[job.tenant] = std::max(ends[job.tenant], scene.finish(job.id.value));
  }
  return ends;
}

TEST(Astraea, MakesNoTenantWorseOffThanOnAPartOfItsOwn) {
  int better = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    std::vector<Job> jobs;
    std::map<std::string, std::vector<Job>> own;
    for (std::uint64_t id = 1; id <= 9; ++id) {
      Job job = of_tenant(random.chance(0.85) ? "a" : "b",
                          linear_job(id, 0, 1 << random.integer(0, 2), random.uniform(20, 40)));
      job = worth_until_due(random.uniform(700, 800), random.uniform(0, 2), job);
      jobs.push_back(job);
      own[job.tenant].push_back(job);
    }

    const auto shared = batch_ends(jobs, "2x4", kHalfShares);

    for (const auto& [tenant, mine] : own) {
      const double alone = batch_ends(mine, "1x4", {{tenant, 1.0}}).at(tenant);
      ASSERT_LE(shared.at(tenant), alone + 1e-6) << "seed " << seed << " tenant " << tenant;
      better += shared.at(tenant) < alone - 1e-6 ? 1 : 0;
    }
  }
  EXPECT_GT(better, 0);
}

}  // namespace
}  // namespace rubato::policy::reconstructed
