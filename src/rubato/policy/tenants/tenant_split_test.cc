#include "rubato/policy/tenants/tenant_split.h"

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/registry.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::tenants {
namespace {

Scene::Make split(std::string policy, std::vector<TenantGpus> tenants) {
  return [policy = std::move(policy), tenants = std::move(tenants)] {
    return Result<std::unique_ptr<Policy>>(
        split_by_tenant(tenants, [&policy] { return make_policy(policy).value(); }));
  };
}

Job of(std::string tenant, Job job) {
  job.tenant = std::move(tenant);
  return job;
}

const std::vector<TenantGpus> kHalfPools = {{.tenant = "a", .gpus = {2}},
                                            {.tenant = "b", .gpus = {2}}};

TEST(TenantSplit, GivesEachTenantItsOwnLine) {
  Scene scene(split("fifo", kHalfPools), {.reloads = true});
  scene.submit({of("a", linear_job(1, 0, 2, 10)), of("a", linear_job(2, 0, 2, 10)),
                of("b", linear_job(3, 1, 2, 10))});

  scene.run();

  EXPECT_EQ(scene.finish(1), 10);
  EXPECT_EQ(scene.finish(2), 20);  // b's GPUs would have been idle until 1 s, but are not a's.
  EXPECT_EQ(scene.finish(3), 11);
}

TEST(TenantSplit, LendsWhatIsIdleUntilItsOwnerComes) {
  Scene scene(split("fifo", kHalfPools), {.reloads = true});
  scene.submit({best_effort(linear_job(1, 0, 2, 10)), best_effort(linear_job(2, 0, 2, 10)),
                of("b", linear_job(3, 5, 2, 10))});

  scene.run_until(5);
  EXPECT_EQ(scene.share(1), 2);
  EXPECT_EQ(scene.share(2), 0);  // The younger one gave way.
  EXPECT_EQ(scene.share(3), 2);
  scene.run();

  EXPECT_EQ(scene.finish(1), 10);
  EXPECT_EQ(scene.finish(2), 15);
  EXPECT_EQ(scene.finish(3), 15);
}

TEST(TenantSplit, DemotesThoseWhoAreGuaranteedNothing) {
  Scene scene(split("elasticflow", kHalfPools));
  scene.submit({due_at(100, of("guest", linear_job(1, 0, 2, 10))),
                due_at(100, of("a", linear_job(2, 0, 2, 10)))});

  scene.run();

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Demote);
  EXPECT_EQ(scene.verdict(1).reason, Reason::QuotaFull);
  EXPECT_EQ(scene.verdict(2).kind, VerdictKind::Admit);
  EXPECT_EQ(scene.verdict(2).promised, at_seconds(100));
}

TEST(TenantSplit, RunsAJobThatIsTooWideForItsTenantOnWhatIsIdle) {
  Scene scene(split("fifo", kHalfPools), {.reloads = true});
  scene.submit({of("a", linear_job(1, 0, 3, 10)), of("a", linear_job(2, 0, 2, 10))});

  scene.run();

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Demote);
  EXPECT_EQ(scene.finish(2), 10);
  EXPECT_EQ(scene.finish(1), 20);
}

TEST(TenantSplit, PromisesNoMoreThanTheTenantHas) {
  Scene scene(split("elasticflow", kHalfPools));
  scene.submit(due_at(10, of("a", linear_job(1, 0, 4, 10))));

  scene.run();

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Refuse);
}

TEST(TenantSplit, SharesWhatIsLeftWhenNodesAreDown) {
  Scene scene(split("fifo", {{.tenant = "a", .gpus = {2}}, {.tenant = "b", .gpus = {2}}}),
              {.cluster = "2x2", .reloads = true});
  scene.submit({of("a", linear_job(1, 0, 1, 10)), of("a", linear_job(2, 0, 1, 10)),
                of("b", linear_job(3, 0, 1, 10)), of("b", linear_job(4, 0, 1, 10))});
  scene.run_until(0);
  scene.set_node(NodeId{1}, false);

  scene.run();

  EXPECT_EQ(scene.finishes().size(), 4U);
}

TEST(TenantSplit, RefusesAStateThatItDidNotSave) {
  const auto policy = split_by_tenant(kHalfPools, [] { return make_policy("fifo").value(); });

  EXPECT_FALSE(policy->load("part 0 100\n").ok());
  EXPECT_FALSE(policy->load("gpus 1\n").ok());
  EXPECT_FALSE(policy->load("nonsense\n").ok());
  EXPECT_TRUE(policy->load(policy->save()).ok());
}

// A tenant whose jobs alone keep to its GPUs sees the same finishes, whatever the others do.
TEST(TenantSplit, ATenantFaresAsAloneOnItsPart) {
  for (const std::string_view name : {"fifo", "srtf", "elasticflow"}) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      Random random(seed);
      std::vector<Job> mine;
      std::vector<Job> all;
      for (std::uint64_t id = 1; id <= 12; ++id) {
        Job job = of(id % 3 == 0 ? "b" : "a",
                     linear_job(id, random.uniform(0, 60), static_cast<int>(random.integer(1, 2)),
                                random.uniform(1, 30)));
        job.workers.max = 2;
        job = id % 5 == 0 ? best_effort(job) : due_at(200, job);
        all.push_back(job);
        if (job.tenant == "a" && id % 5 != 0) {
          mine.push_back(job);
        }
      }
      Scene shared(split(std::string(name), kHalfPools));
      Scene alone([&] { return make_policy(name); }, {.cluster = "1x2"});
      shared.submit(all);
      alone.submit(mine);

      shared.run();
      alone.run();

      for (const Job& job : mine) {
        ASSERT_EQ(shared.finish(job.id.value), alone.finish(job.id.value))
            << name << " seed " << seed << " job " << job.id.value;
      }
    }
  }
}

}  // namespace
}  // namespace rubato::policy::tenants
