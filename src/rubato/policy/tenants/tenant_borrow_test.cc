// Jobs of best effort where tenants keep them: on their own GPUs first, then on borrowed ones.
#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/registry.h"
#include "rubato/policy/tenants/tenant_split.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::tenants {
namespace {

constexpr const char* kEverybody = "";

Scene::Make kept(std::string policy, std::vector<TenantGpus> tenants) {
  for (TenantGpus& tenant : tenants) {
    tenant.keeps_best_effort = true;
  }
  tenants.push_back({.tenant = kEverybody, .has_the_rest = true, .keeps_best_effort = true});
  return [policy = std::move(policy), tenants = std::move(tenants)] {
    return Result<std::unique_ptr<Policy>>(
        split_by_tenant(tenants, [&policy] { return make_policy(policy).value(); }));
  };
}

Job idle_job(std::string tenant, std::uint64_t id, double arrival, double seconds = 100) {
  Job job = best_effort(linear_job(id, arrival, 1, seconds));
  job.tenant = std::move(tenant);
  return job;
}

int used_by(const Scene& scene, std::string_view tenant) {
  int gpus = 0;
  scene.jobs().for_each(
      [&](const JobState& job) { gpus += job.job.tenant == tenant ? job.share : 0; });
  return gpus;
}

TEST(TenantBorrow, AnyIdleGpuIsLentUnlessThereIsALimit) {
  for (const std::optional<int> limit :
       {std::optional<int>{}, std::optional(0), std::optional(1)}) {
    Scene scene(kept("elasticflow", {{.tenant = "a", .gpus = {1}, .borrow = limit}}),
                {.reloads = true});
    scene.submit(idle_job("a", 1, 0));

    scene.run_until(1);

    EXPECT_EQ(scene.share(1), limit ? 1 + *limit : 4);
  }
}

TEST(TenantBorrow, ATenantWithoutAGuaranteeHasItsLimitAlone) {
  Scene scene(kept("elasticflow", {{.tenant = "a", .gpus = {0}, .borrow = 2}}));
  Job wanted = due_at(1000, linear_job(2, 0, 1, 10));
  wanted.tenant = "a";
  scene.submit({idle_job("a", 1, 0), wanted});

  scene.run_until(1);

  EXPECT_EQ(used_by(scene, "a"), 2);
  EXPECT_EQ(scene.verdict(2).kind, VerdictKind::Demote) << "no promise rests on borrowed GPUs";
}

TEST(TenantBorrow, AJobOfBestEffortTakesItsTenantsGpusBack) {
  Scene scene(kept("elasticflow", {{.tenant = "a", .gpus = {3}}}), {.reloads = true});
  scene.submit({idle_job("b", 1, 0), idle_job("a", 2, 5, 30)});

  scene.run_until(4);
  EXPECT_EQ(scene.share(1), 4) << "nobody wants them";
  scene.run_until(6);
  EXPECT_EQ(scene.share(2), 3);
  EXPECT_EQ(scene.share(1), 1) << "what everybody has";
  scene.run_until(16);

  EXPECT_EQ(scene.finish(2), 15);
  EXPECT_EQ(scene.share(1), 4) << "idle again";
}

TEST(TenantBorrow, PromisesComeBeforeTheBestEffortOfTheirTenant) {
  Scene scene(kept("elasticflow", {{.tenant = "a", .gpus = {2}, .borrow = 1}}), {.reloads = true});
  Job urgent = due_at(20, linear_job(2, 5, 2, 14));
  urgent.tenant = "a";
  scene.submit({idle_job("a", 1, 0, 1000), urgent});

  scene.run_until(4);
  EXPECT_EQ(scene.share(1), 3);
  scene.run_until(6);

  EXPECT_EQ(scene.share(2), 2);
  EXPECT_EQ(scene.share(1), 1) << "its limit counts from the guarantee on";
  scene.run();
  EXPECT_LE(scene.finish(2), 20);
}

TEST(TenantBorrow, WhoBorrowsGivesBackTheYoungestJobsFirst) {
  Scene scene(kept("fifo", {{.tenant = "a", .gpus = {2}}, {.tenant = "b", .gpus = {2}}}),
              {.reloads = true});
  scene.submit({idle_job("a", 1, 0), idle_job("a", 2, 0), idle_job("a", 3, 0), idle_job("a", 4, 0),
                idle_job("b", 5, 10)});

  scene.run_until(9);
  EXPECT_EQ(used_by(scene, "a"), 4);
  scene.run_until(11);

  EXPECT_EQ(scene.share(4), 0);
  EXPECT_EQ(scene.share(5), 1);
  EXPECT_EQ(used_by(scene, "a"), 3);
}

TEST(TenantBorrow, ALimitIsHeldOverAllPools) {
  Scene scene(kept("fifo", {{.tenant = "a", .gpus = {1, 0}, .borrow = 2}}),
              {.cluster = "1x2@x+1x4@y", .reloads = true});
  for (std::uint64_t id = 1; id <= 8; ++id) {
    scene.submit(idle_job("a", id, 0));
  }

  scene.run_until(1);

  EXPECT_EQ(used_by(scene, "a"), 3);
}

TEST(TenantBorrow, AJobThatCouldNeverRunIsRefused) {
  Scene scene(kept("fifo", {{.tenant = "a", .gpus = {1}, .borrow = 1}}));
  Job wide = idle_job("a", 1, 0);
  wide.requested = 3;
  scene.submit({wide, idle_job("a", 2, 0)});

  scene.run_until(1);

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Refuse);
  EXPECT_EQ(scene.verdict(1).reason, Reason::QuotaFull);
  EXPECT_EQ(scene.share(2), 1) << "it is in nobody's way";
}

// --- Properties ------------------------------------------------------------------------------

struct RandomTenants {
  std::vector<TenantGpus> tenants{};
  std::vector<Job> jobs{};
};

RandomTenants random_tenants(std::uint64_t seed) {
  Random random(seed);
  RandomTenants made;
  int left = 8;
  for (const char* name : {"a", "b", "c"}) {
    const int gpus = static_cast<int>(random.integer(0, std::min(left, 4)));
    left -= gpus;
    made.tenants.push_back({.tenant = name, .gpus = {gpus}});
    if (random.chance(0.6)) {
      made.tenants.back().borrow = static_cast<int>(random.integer(0, 4));
    }
  }
  for (std::uint64_t id = 1; id <= 25; ++id) {
    Job job = linear_job(id, random.uniform(0, 100), static_cast<int>(random.integer(1, 3)),
                         random.uniform(1, 40));
    job.tenant = std::string(1, static_cast<char>('a' + random.integer(0, 3)));
    job.workers.max = static_cast<int>(random.integer(1, 8));
    made.jobs.push_back(random.chance(0.7) ? best_effort(job) : due_at(400, job));
  }
  return made;
}

// Whatever happens no tenant has more than it is guaranteed and may borrow, all jobs end, and those
// with a promise in time.
TEST(TenantBorrow, LimitsHoldWhateverThePolicy) {
  for (const std::string name : {"elasticflow", "fifo", "srtf", "tiresias", "pollux", "drf"}) {
    const bool needs_slot = name == "tiresias" || name == "pollux" || name == "drf";
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
      const RandomTenants made = random_tenants(seed);
      SCOPED_TRACE(name + " seed " + std::to_string(seed));
      const double slot = seed % 2 == 0 ? 5 : needs_slot ? 1 : 0;
      Scene scene(kept(name, made.tenants),
                  {.cluster = "2x4", .slot_seconds = slot, .reloads = true});
      scene.submit(made.jobs);
      scene.watch([&] {
        for (const TenantGpus& tenant : made.tenants) {
          const int most = tenant.borrow ? tenant.gpus.front() + *tenant.borrow : 8;
          ASSERT_LE(used_by(scene, tenant.tenant), most)
              << name << " seed " << seed << " tenant " << tenant.tenant;
        }
      });

      scene.run();

      ASSERT_FALSE(HasFatalFailure());
      for (const Job& job : made.jobs) {
        const Verdict& verdict = scene.verdict(job.id.value);
        ASSERT_EQ(scene.finish(job.id.value) > 0, verdict.kind != VerdictKind::Refuse)
            << name << " seed " << seed << " job " << job.id.value;
        if (verdict.promised != kNever) {
          ASSERT_LE(scene.finish(job.id.value), 400) << name << " seed " << seed;
        }
      }
    }
  }
}

// Nothing idles: a job that waits finds no GPU that is idle and that its tenant may use.
TEST(TenantBorrow, NobodyWaitsForAGpuThatIsIdleAndAllowed) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomTenants made = random_tenants(seed);
    Scene scene(kept("elasticflow", made.tenants), {.cluster = "2x4"});
    scene.submit(made.jobs);
    for (double now = 0.5; now < 200; now += 1) {
      scene.run_until(now);
      const auto shares = scene.shares();
      const int idle =
          8 - std::accumulate(shares.begin(), shares.end(), 0,
                              [](int sum, const auto& each) { return sum + each.second; });
      scene.jobs().for_each([&](const JobState& job) {
        const auto own = std::ranges::find(made.tenants, job.job.tenant, &TenantGpus::tenant);
        const bool is_at_limit = own != made.tenants.end() && own->borrow &&
                                 used_by(scene, job.job.tenant) >= own->gpus.front() + *own->borrow;
        const bool is_waiting = job.share == 0 && job.job.job_class == JobClass::BestEffort;
        ASSERT_FALSE(is_waiting && idle > 0 && !is_at_limit)
            << "seed " << seed << " at " << now << " job " << job.id().value;
      });
    }
  }
}

}  // namespace
}  // namespace rubato::policy::tenants
