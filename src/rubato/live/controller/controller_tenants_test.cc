// What tenants are guaranteed and may borrow.
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/live/controller/controller_world_test.h"

namespace rubato {
namespace {

wire::TenantStatus tenant_with(const std::string& name, int guarantee,
                               std::optional<int> borrow = std::nullopt) {
  wire::TenantStatus tenant;
  tenant.set_name(name);
  tenant.set_guarantee(guarantee);
  if (borrow) {
    tenant.set_borrow(*borrow);
  }
  return tenant;
}

void guarantee(ControllerWorld& world, const std::string& name, int gpus,
               std::optional<int> borrow = std::nullopt) {
  ASSERT_EQ(world.controller().why_not(tenant_with(name, gpus, borrow)), "");
  wire::JournalInput input;
  *input.mutable_tenant()->mutable_tenant() = tenant_with(name, gpus, borrow);
  world.play(input);
}

int workers_of(ControllerWorld& world, const std::string& tenant) {
  int workers = 0;
  for (const auto& [id, job] : world.controller().jobs()) {
    workers += job.spec.tenant() == tenant ? job.workers : 0;
  }
  return workers;
}

TEST(Tenants, OthersCannotPromiseAwayWhatATenantIsGuaranteed) {
  for (const bool is_guaranteed : {false, true}) {
    ControllerWorld world(2, 4, 1);
    if (is_guaranteed) {
      guarantee(world, "a", 4);
    }
    for (int i = 0; i < 12; ++i) {
      world.submit(1000, 60, true, "", "b");
    }
    world.run(3);
    // 34 steps a second on four GPUs.
    const JobId late = world.submit(1000, 45, true, "", "a");
    const LiveJob& job = *world.controller().find(late);
    EXPECT_EQ(job.has_promise(), is_guaranteed);
    world.run(70);
    for (const auto& [id, each] : world.controller().jobs()) {
      if (each.has_promise()) {
        EXPECT_EQ(each.state, LiveState::Succeeded);
        EXPECT_LE(each.end.at, each.promise.promised) << "job " << id.value;
      }
    }
    EXPECT_THAT(world.faults(), testing::IsEmpty());
  }
}

TEST(Tenants, LendTheirGpusToBestEffortJobsUntilTheyWantThem) {
  ControllerWorld world(2, 4, 1);
  guarantee(world, "a", 4);
  world.submit(1e6, 0, true, "", "b");
  world.run(10);
  EXPECT_EQ(workers_of(world, "b"), 8) << "nobody else wants them";

  const JobId own = world.submit(1200, 50, true, "", "a");
  EXPECT_TRUE(world.controller().find(own)->has_promise());
  world.run(5);
  EXPECT_GE(workers_of(world, "a"), 4);
  world.run(60);
  EXPECT_LE(world.controller().find(own)->end.at, world.controller().find(own)->promise.promised);
  EXPECT_EQ(workers_of(world, "b"), 8) << "given back";
  EXPECT_THAT(world.faults(), testing::IsEmpty());
}

TEST(Tenants, BorrowNoMoreThanTheyMay) {
  ControllerWorld world(2, 4, 1);
  guarantee(world, "a", 2, 1);
  world.submit(1e6, 0, true, "", "a");
  world.submit(1e6, 0, true, "", "a");
  world.run(10);
  EXPECT_EQ(workers_of(world, "a"), 3) << "though five more are idle";

  guarantee(world, "a", 2, 0);
  world.run(10);
  EXPECT_EQ(workers_of(world, "a"), 2);
  guarantee(world, "a", 2);
  world.run(10);
  EXPECT_EQ(workers_of(world, "a"), 8) << "without a limit";
  EXPECT_THAT(world.faults(), testing::IsEmpty());
}

TEST(Tenants, TakeTheirGpusBackForJobsWithoutADeadlineToo) {
  ControllerWorld world(2, 4, 1);
  guarantee(world, "a", 4);
  world.submit(1e6, 0, true, "", "b");
  world.run(10);
  ASSERT_EQ(workers_of(world, "b"), 8);

  world.submit(1e6, 0, true, "", "a");
  world.run(10);

  EXPECT_EQ(workers_of(world, "a"), 4);
  EXPECT_EQ(workers_of(world, "b"), 4);
  EXPECT_THAT(world.faults(), testing::IsEmpty());
}

TEST(Tenants, ALimitThatWouldCostAPromiseIsRefused) {
  ControllerWorld world(2, 4, 1);
  EXPECT_NE(world.controller().why_not(tenant_with("a", 0, -1)), "");
  const JobId id = world.submit(500, 60, true, "", "a");
  ASSERT_TRUE(world.controller().find(id)->has_promise());

  EXPECT_THAT(world.controller().why_not(tenant_with("a", 0, 2)), testing::HasSubstr("job 1"))
      << "no promise rests on borrowed GPUs";
  EXPECT_EQ(world.controller().why_not(tenant_with("a", 4, 2)), "");
}

TEST(Tenants, NoMoreIsGuaranteedThanThereIsNorAPromiseBrokenForIt) {
  ControllerWorld world(2, 4, 1);
  EXPECT_EQ(world.controller().why_not(tenant_with("a", 8)), "");
  EXPECT_THAT(world.controller().why_not(tenant_with("a", 9)), testing::HasSubstr("9 GPUs"));
  EXPECT_NE(world.controller().why_not(tenant_with("a", -1)), "");
  EXPECT_NE(world.controller().why_not(tenant_with("", 1)), "");
  guarantee(world, "a", 5);
  EXPECT_NE(world.controller().why_not(tenant_with("b", 4)), "");
  guarantee(world, "a", 0);

  const JobId wide = world.submit(2500, 50, true, "", "b");
  ASSERT_TRUE(world.controller().find(wide)->has_promise());
  EXPECT_THAT(world.controller().why_not(tenant_with("a", 7)), testing::HasSubstr("job 1"));
}

TEST(Tenants, PromisesAreKeptWhoeverElseAsks) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ControllerWorld world(2, 4, seed);
    guarantee(world, "a", 3, seed % 2 == 0 ? std::optional(2) : std::nullopt);
    guarantee(world, "b", 2, seed % 3 == 0 ? std::optional(0) : std::nullopt);
    Random random(seed);
    for (int i = 0; i < 30; ++i) {
      const double steps = random.uniform(50, 1200);
      const std::string tenant(1, static_cast<char>('a' + random.integer(0, 2)));
      world.submit(steps, random.chance(0.6) ? 5 + steps / 10 * random.uniform(0.5, 4) : 0, true,
                   "", tenant);
      world.run(random.exponential(5));
    }
    world.run(2500);
    EXPECT_THAT(world.faults(), testing::IsEmpty()) << "seed " << seed;
    int promised = 0;
    for (const auto& [id, job] : world.controller().jobs()) {
      EXPECT_TRUE(is_over(job.state)) << "seed " << seed << " job " << id.value;
      if (job.has_promise()) {
        ++promised;
        EXPECT_LE(job.end.at, job.promise.promised) << "seed " << seed << " job " << id.value;
      }
    }
    EXPECT_GT(promised, 0);
    const std::string bytes = world.controller().save();
    const auto loaded = Controller::load(world.options(), bytes);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ(loaded->save(), bytes);
  }
}

}  // namespace
}  // namespace rubato
