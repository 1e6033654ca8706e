// What holds for every policy in every state, over random lives.
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/engine/testing/random_run_test.h"
#include "rubato/policy/registry.h"

namespace rubato {
namespace {

using testing::IsEmpty;

constexpr int kSteps = 150;

struct Case {
  std::string policy{};
  ResizeCostModel accounting = ResizeCostModel::None;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const PolicyInfo& info : all_policies()) {
    for (const ResizeCostModel accounting : kAccountings) {
      cases.push_back({.policy = std::string(info.name), .accounting = accounting});
    }
  }
  return cases;
}

class AnyPolicy : public testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] static World world(std::uint64_t seed) {
    return {.cluster = "4x4",
            .accounting = GetParam().accounting,
            .slot_seconds = seed % 2 == 0 ? 10.0 : 1.0,
            .seed = seed};
  }
};

INSTANTIATE_TEST_SUITE_P(Engine, AnyPolicy, testing::ValuesIn(all_cases()), [](const auto& given) {
  std::string name = given.param.policy + "_" + std::string(to_string(given.param.accounting));
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST_P(AnyPolicy, NeverHandsOutAGpuTwiceAndNeverRaisesAnAlarm) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Engine engine = world(seed).engine(GetParam().policy);
    RandomRun run(engine, seed);
    for (int i = 0; i < kSteps; ++i) {
      run.step();

      const EngineState& state = engine.state();
      ASSERT_LE(state.used.at(0), state.capacity.at(0)) << "seed " << seed << " step " << i;
      for (const Alarm& alarm : only<Alarm>(run.last())) {
        ASSERT_EQ(alarm.fault, "") << "seed " << seed << " step " << i;
      }
      ASSERT_THAT(engine.audit(), IsEmpty()) << "seed " << seed << " step " << i;
    }
  }
}

TEST_P(AnyPolicy, NeverRefusesWhatItAdmitted) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Engine engine = world(seed).engine(GetParam().policy);
    RandomRun run(engine, seed);
    std::set<JobId> admitted;
    for (int i = 0; i < kSteps; ++i) {
      run.step();

      for (const Answer& answer : only<Answer>(run.last())) {
        const bool refused = answer.verdict.kind == VerdictKind::Refuse;
        ASSERT_FALSE(refused && admitted.contains(answer.verdict.job)) << "seed " << seed;
        if (answer.verdict.kind == VerdictKind::Admit ||
            answer.verdict.kind == VerdictKind::Demote) {
          admitted.insert(answer.verdict.job);
        }
      }
    }
  }
}

TEST_P(AnyPolicy, GivesTheSameBytesForTheSameSeed) {
  const auto journal = [](std::uint64_t seed) {
    Engine engine = world(seed).engine(GetParam().policy);
    RandomRun run(engine, seed);
    for (int i = 0; i < kSteps; ++i) {
      run.step();
    }
    return run.journal();
  };

  const std::string first = journal(3);
  const std::string second = journal(3);

  EXPECT_EQ(first, second);
}

/// Before every event, or before the one with this number, the policy is saved, made anew and
/// loaded.
class ReloadedPolicy final : public Policy {
 public:
  ReloadedPolicy(std::string name, int only_before)
      : name_(std::move(name)), only_before_(only_before), policy_(make_policy(name_).value()) {}

  [[nodiscard]] Traits traits() const override { return policy_->traits(); }
  [[nodiscard]] Decision on(const Event& event, const View& view) override {
    if (only_before_ < 0 || events_ == only_before_) {
      auto fresh = make_policy(name_).value();
      RUBATO_CHECK(fresh->load(policy_->save()).ok());
      policy_ = std::move(fresh);
    }
    ++events_;
    return policy_->on(event, view);
  }

 private:
  std::string name_;
  int only_before_;
  int events_ = 0;
  std::unique_ptr<Policy> policy_;
};

// The journal of a random life in which the policy is reloaded; kSteps means never.
std::string reloaded_journal(const World& world, const std::string& policy, int only_before) {
  Engine engine = Engine::with(
      world.topology(), SpeedBook(world.speeds, world.topology()),
      [&] { return std::make_unique<ReloadedPolicy>(policy, only_before); }, world.options());
  RandomRun run(engine, world.seed);
  for (int i = 0; i < kSteps; ++i) {
    run.step();
  }
  return run.journal();
}

TEST_P(AnyPolicy, StartsAJobAgainThatLostAWorker) {
  Engine engine = world(0).engine(GetParam().policy);
  RandomRun run(engine, 0);
  run.feed(Arrival{.job = due(1000, job(1, 1000))});
  ASSERT_TRUE(run.starts(JobId{1}));

  const int share = engine.state().jobs.at(JobId{1}).share;
  run.feed(ProgressReport{.job = JobId{1}, .done = 0, .workers = share - 1});

  EXPECT_EQ(engine.state().jobs.at(JobId{1}).share, 0);
  EXPECT_TRUE(run.starts(JobId{1}));
}

TEST_P(AnyPolicy, ContinuesWithTheSameBytesAfterItWasReloaded) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const std::string never = reloaded_journal(world(seed), GetParam().policy, kSteps);

    const std::string once = reloaded_journal(world(seed), GetParam().policy, kSteps / 2);
    const std::string always = reloaded_journal(world(seed), GetParam().policy, -1);

    ASSERT_EQ(once, never) << "seed " << seed;
    ASSERT_EQ(always, never) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato
