// What happens when a placer has quotas: refusals, jobs that give way, and tenants side by side.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/engine/record/replay.h"
#include "rubato/engine/testing/random_run_test.h"
#include "rubato/policy/registry.h"
#include "rubato/policy/tenants/tenant_split.h"

namespace rubato {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const World kHalves{.cluster = "2x4", .placer = "hived:vc=a:1x4/b:1x4"};

Job of(std::string tenant, Job job) {
  job.tenant = std::move(tenant);
  return job;
}

Job best_effort(Job job) {
  job.job_class = JobClass::BestEffort;
  return job;
}

TEST(Quota, ARefusedJobStaysStoppedAndItsPolicyIsTold) {
  ScriptedEngine engine(kHalves);
  engine.arrive(0, of("a", job(1, 100)));
  engine.arrive(0, of("b", job(2, 100)));

  const Commands commands = engine.round(1, {{1, 6}, {2, 2}});

  ASSERT_EQ(runs_of(commands).size(), 1U);
  EXPECT_EQ(runs_of(commands)[0].job, JobId{2});
  EXPECT_EQ(engine.job(1).share, 0);
  EXPECT_EQ(engine.state().used, std::vector<int>{2});
  EXPECT_EQ(engine.engine().why(at(1), JobId{1})->reason, Reason::QuotaFull);
  EXPECT_THAT(engine.engine().why(at(1), JobId{1})->remedy, HasSubstr("tenant"));
  const auto* told = std::get_if<ProgressReport>(&engine.script().seen.back());
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->job, JobId{1});
  EXPECT_EQ(told->workers, 0);
  EXPECT_THAT(engine.engine().audit(), IsEmpty());
}

TEST(Quota, AJobThatMayNotGrowKeepsWhatItHas) {
  ScriptedEngine engine(kHalves);
  engine.arrive(0, of("a", job(1, 100)));
  engine.round(1, {{1, 4}});

  const Commands commands = engine.round(2, {{1, 8}});

  EXPECT_THAT(runs_of(commands), IsEmpty());
  EXPECT_EQ(engine.job(1).share, 4);
  EXPECT_EQ(std::get<ProgressReport>(engine.script().seen.back()).workers, 4);
  EXPECT_THAT(engine.engine().audit(), IsEmpty());
}

TEST(Quota, AJobInTheWayOfAnOwnerMoves) {
  ScriptedEngine engine(World{.cluster = "3x4", .placer = "hived:vc=a:1x4/b:1x4"});
  for (const std::uint64_t id : {1U, 2U, 3U}) {
    engine.arrive(0, best_effort(job(id, 100)));
    engine.round(0, {{id, 3}});
  }
  engine.arrive(1, of("a", job(4, 100)));

  // By numbers it fits, but every node is in use: one job goes to what is left of the others.
  const Commands commands = engine.round(2, {{4, 3}});

  EXPECT_EQ(engine.job(4).placement.ranges.front().count, 3);
  EXPECT_EQ(runs_of(commands).size(), 2U);
  EXPECT_EQ(engine.state().used, std::vector<int>{12});
  EXPECT_EQ(engine.job(1).migrations + engine.job(2).migrations + engine.job(3).migrations, 1);
  EXPECT_THAT(engine.engine().audit(), IsEmpty());
}

TEST(Quota, AJobThatLosesItsPoolToAQuotaStops) {
  ScriptedEngine engine(
      World{.cluster = "1x4+1x8:big", .speeds = test_speeds(), .placer = "hived:vc=a:1x4"});
  engine.arrive(0, of("a", job(1, 100)));
  engine.round(1, {{1, 2}});

  const Commands commands = engine.decide(
      2,
      Decision{.is_round = true, .targets = {{.job = JobId{1}, .pool = PoolId{1}, .workers = 2}}});

  EXPECT_EQ(only<Suspend>(commands).size(), 1U);
  EXPECT_EQ(engine.job(1).share, 0);
  EXPECT_EQ(engine.state().used, (std::vector<int>{0, 0}));
  EXPECT_EQ(engine.job(1).reason, Reason::QuotaFull);
  EXPECT_THAT(engine.engine().audit(), IsEmpty());
}

// The flood of one tenant is in nobody's way, whatever the policy: it would be, in a common line.
// Those that can live on a part of the cluster.
std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const PolicyInfo& info : all_policies()) {
    if (!make_policy(info.name).value()->traits().plans_nodes) {
      names.emplace_back(info.name);
    }
  }
  return names;
}

TEST(Quota, IsRefusedToPoliciesThatPlanNodeByNode) {
  const auto engine = Engine::make(kHalves.topology(), SpeedBook({}, kHalves.topology()), "oasis",
                                   kHalves.options());

  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, ErrorCode::BadConfig);
}

TEST(Quota, OneTenantsFloodDoesNotDelayAnother) {
  for (const std::string& name : policy_names()) {
    Engine engine = kHalves.engine(name);
    RandomRun run(engine, 1);
    for (std::uint64_t id = 1; id <= 20; ++id) {
      Job flood = of("a", due(1e6, job(id, 1e5)));
      flood.requested = 4;
      run.feed(Arrival{.job = flood});
    }
    run.feed(Tick{});
    Job wanted = of("b", due(1e6, job(21, 1000)));
    wanted.requested = 4;
    wanted.value.amount = 1e9;
    run.feed(Arrival{.job = wanted});

    if (engine.state().jobs.find(JobId{21}) == nullptr) {
      continue;  // Its owner found the price too high.
    }
    EXPECT_TRUE(run.starts(JobId{21})) << name;
    EXPECT_THAT(engine.audit(), IsEmpty()) << name;
  }
}

class QuotasUnder : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] static World world(std::uint64_t seed) {
    return {.cluster = seed % 3 == 0 ? "4x4" : "3x4+2x8:other",
            .accounting = kAccountings[seed % 3],
            .slot_seconds = seed % 2 == 0 ? 10.0 : 1.0,
            .seed = seed,
            .placer = seed % 2 == 0 ? "hived:vc=a:1x4+1x2/b:1x4" : "hived:vc=a:2x2+1x1/b:1x2"};
  }
};

INSTANTIATE_TEST_SUITE_P(Engine, QuotasUnder, testing::ValuesIn(policy_names()),
                         [](const auto& given) {
                           std::string name = given.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// GPUs in pool 0 of the jobs that are guaranteed some there.
int used_by(const Engine& engine, std::string_view tenant) {
  int gpus = 0;
  engine.state().jobs.for_each([&](const JobState& each) {
    const bool counts = each.job.tenant == tenant && each.pool() == PoolId{0} &&
                        each.job_class != JobClass::BestEffort;
    gpus += counts ? each.share : 0;
  });
  return gpus;
}

TEST_P(QuotasUnder, HoldWhateverHappens) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Engine engine = world(seed).engine(GetParam());
    RandomRun run(engine, seed);
    for (int i = 0; i < 150; ++i) {
      run.step();

      for (const Alarm& alarm : only<Alarm>(run.last())) {
        ASSERT_EQ(alarm.fault, "") << "seed " << seed << " step " << i;
      }
      ASSERT_THAT(engine.audit(), IsEmpty()) << "seed " << seed << " step " << i;
      ASSERT_LE(used_by(engine, "a"), seed % 2 == 0 ? 6 : 5) << "seed " << seed << " step " << i;
      ASSERT_LE(used_by(engine, "b"), seed % 2 == 0 ? 4 : 2) << "seed " << seed << " step " << i;
    }
  }
}

// One policy for all tenants learns of its quotas only by refusals.
TEST_P(QuotasUnder, HoldThoughThePolicyDoesNotKnowThem) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Engine engine = Engine::with(
        world(seed).topology(), SpeedBook(world(seed).speeds, world(seed).topology()),
        [] { return make_policy(GetParam()).value(); }, world(seed).options());
    RandomRun run(engine, seed);
    for (int i = 0; i < 150; ++i) {
      run.step();

      for (const Alarm& alarm : only<Alarm>(run.last())) {
        ASSERT_EQ(alarm.fault, "") << "seed " << seed << " step " << i;
      }
      ASSERT_THAT(engine.audit(), IsEmpty()) << "seed " << seed << " step " << i;
      ASSERT_LE(used_by(engine, "a"), seed % 2 == 0 ? 6 : 5) << "seed " << seed << " step " << i;
      ASSERT_LE(used_by(engine, "b"), seed % 2 == 0 ? 4 : 2) << "seed " << seed << " step " << i;
    }
  }
}

// The same for tenants that keep their jobs of best effort and may borrow so much and no more.
TEST_P(QuotasUnder, HoldForWhatIsBorrowed) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const World world{.cluster = seed % 2 == 0 ? "4x4" : "3x4+2x8:other",
                      .accounting = kAccountings[seed % 3],
                      .slot_seconds = seed % 2 == 0 ? 10.0 : 1.0,
                      .seed = seed};
    EngineOptions options = world.options();
    options.guarantees = {{.tenant = "a", .gpus = {4, 0}, .keeps_best_effort = true, .borrow = 3},
                          {.tenant = "b", .gpus = {2, 2}, .keeps_best_effort = true, .borrow = 0},
                          {.tenant = "", .has_the_rest = true, .keeps_best_effort = true}};
    Engine engine = Engine::make(world.topology(), SpeedBook(world.speeds, world.topology()),
                                 GetParam(), options)
                        .value();
    RandomRun run(engine, seed);
    for (int i = 0; i < 150; ++i) {
      run.step();

      for (const Alarm& alarm : only<Alarm>(run.last())) {
        ASSERT_EQ(alarm.fault, "") << "seed " << seed << " step " << i;
      }
      ASSERT_THAT(engine.audit(), IsEmpty()) << "seed " << seed << " step " << i;
      std::map<std::string, int> used;
      engine.state().jobs.for_each(
          [&](const JobState& each) { used[each.job.tenant] += each.share; });
      ASSERT_LE(used["a"], 7) << "seed " << seed << " step " << i;
      ASSERT_LE(used["b"], seed % 2 == 0 ? 2 : 4) << "seed " << seed << " step " << i;
    }
  }
}

/// A split policy that is saved, made anew and loaded before every event.
class ReloadedSplit final : public Policy {
 public:
  explicit ReloadedSplit(std::string name) : name_(std::move(name)), policy_(make()) {}

  [[nodiscard]] Traits traits() const override { return policy_->traits(); }
  [[nodiscard]] Decision on(const Event& event, const View& view) override {
    auto fresh = make();
    RUBATO_CHECK(fresh->load(policy_->save()).ok() && fresh->save() == policy_->save());
    policy_ = std::move(fresh);
    return policy_->on(event, view);
  }

 private:
  [[nodiscard]] std::unique_ptr<Policy> make() const {
    return policy::tenants::split_by_tenant(
        {{.tenant = "a", .gpus = {6}}, {.tenant = "b", .gpus = {4}}},
        [this] { return make_policy(name_).value(); });
  }

  std::string name_;
  std::unique_ptr<Policy> policy_;
};

TEST_P(QuotasUnder, ContinueWithTheSameBytesAfterAReload) {
  const World world{.cluster = "4x4", .slot_seconds = 10, .placer = "hived:vc=a:1x4+1x2/b:1x4"};
  const auto journal = [](Engine engine) {
    RandomRun run(engine, 5);
    for (int i = 0; i < 150; ++i) {
      run.step();
    }
    return run.journal();
  };

  const std::string plain = journal(world.engine(GetParam()));
  const std::string reloaded = journal(Engine::with(
      world.topology(), SpeedBook(world.speeds, world.topology()),
      [] { return std::make_unique<ReloadedSplit>(GetParam()); }, world.options()));

  EXPECT_EQ(reloaded, plain);
}

TEST_P(QuotasUnder, AreReplayedFromTheJournal) {
  const JournalHeader header{.policy = GetParam(),
                             .accounting = ResizeCostModel::Physical,
                             .slot = seconds(10),
                             .cluster = "4x4",
                             .tenants = "a=0.4,b=0.25",
                             .placer = "hived"};
  Engine engine = engine_for(header, {.rows = test_speeds()}).value();
  RandomRun run(engine, 7);
  for (int i = 0; i < 100; ++i) {
    run.step();
  }

  Engine fresh = engine_for(header, {.rows = test_speeds()}).value();
  const auto report = replay(header_line(header) + run.journal(), fresh);

  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->same()) << report->difference->recorded << "\n"
                              << report->difference->replayed;
}

}  // namespace
}  // namespace rubato
