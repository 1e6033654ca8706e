// What holds for every policy that decides ahead.
#include "rubato/policy/planning/planning_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/core/plan_checker.h"
#include "rubato/policy/pricing/dps.h"
#include "rubato/policy/pricing/oasis.h"
#include "rubato/policy/reconstructed/a_online.h"
#include "rubato/policy/reconstructed/astraea.h"
#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::planning {
namespace {

using testing::IsEmpty;

struct Named {
  std::string name{};
  Result<std::unique_ptr<Policy>> (*make)(const PolicyOptions&) = nullptr;
};

class Planning : public testing::TestWithParam<Named> {
 protected:
  [[nodiscard]] static Scene::Make make() {
    return [] { return GetParam().make(PolicyOptions{}); };
  }
};

INSTANTIATE_TEST_SUITE_P(Policies, Planning,
                         testing::Values(Named{"oasis", pricing::make_oasis},
                                         Named{"dps", pricing::make_dps},
                                         Named{"a_online", reconstructed::make_a_online},
                                         Named{"astraea", reconstructed::make_astraea}),
                         [](const auto& given) { return given.param.name; });

// Jobs of all kinds, with values or without, faster than the cluster can run them.
std::vector<Job> random_valued_jobs(Random& random, int count) {
  std::vector<Job> jobs;
  double arrival = 0;
  for (int id = 1; id <= count; ++id) {
    arrival += random.exponential(60);
    Job job = linear_job(static_cast<std::uint64_t>(id), arrival, 1 << random.integer(0, 2),
                         random.uniform(20, 600));
    const double kind = random.uniform();
    job.job_class = kind < 0.5 ? JobClass::Slo : kind < 0.8 ? JobClass::Soft : JobClass::BestEffort;
    if (job.job_class != JobClass::BestEffort) {
      job.deadline = later(job.arrival, from_seconds(random.uniform(50, 4000)));
    }
    if (random.chance(0.4)) {
      job.value = {.kind = ValueKind::Sigmoid,
                   .amount = random.uniform(1, 100),
                   .decay = random.uniform(0.001, 0.1),
                   .knee = from_seconds(random.uniform(50, 1000))};
    }
    job.weight = random.uniform(0.5, 4);
    job.tenant = random.chance(0.5) ? "a" : "b";
    jobs.push_back(job);
  }
  return jobs;
}

TEST_P(Planning, FinishesWhomItAdmitsAndNeverPlansMoreThanThereIs) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Random random(seed);
    constexpr std::array<ResizeCostModel, 3> kAccountings = {
        ResizeCostModel::None, ResizeCostModel::Physical, ResizeCostModel::Artifact};
    Scene scene(make(), {.cluster = seed % 2 == 0 ? "3x4" : "1x4+2x2@edge/30",
                         .slot_seconds = seed % 3 == 0 ? 0.0 : 10.0,
                         .accounting = kAccountings[seed % 3],
                         .reloads = true});
    const std::vector<Job> jobs = random_valued_jobs(random, 16);
    scene.submit(jobs);
    scene.watch([&] {
      std::vector<Plan> plans;
      scene.jobs().for_each([&](const JobState& job) { plans.push_back(job.plan); });
      ASSERT_THAT(check_capacity(plans, scene.view().capacity), IsEmpty()) << "seed " << seed;
    });

    scene.run_until(400);
    scene.set_node(NodeId{1}, false);
    scene.run_until(900);
    scene.set_node(NodeId{1}, true);
    scene.run();

    for (const Job& job : jobs) {
      const Verdict& verdict = scene.verdict(job.id.value);
      ASSERT_NE(verdict.kind, VerdictKind::Defer) << "seed " << seed << " job " << job.id.value;
      ASSERT_EQ(verdict.kind == VerdictKind::Admit, scene.finish(job.id.value) > 0)
          << "seed " << seed << " job " << job.id.value;
      if (job.value != ValueFunction{}) {
        ASSERT_LE(verdict.payment, job.value.at(Duration{})) << "seed " << seed;
      }
    }
  }
}

TEST_P(Planning, RunsAPlainJobAtOnceOrWithTheFirstBatch) {
  Scene scene(make());
  scene.submit(best_effort(linear_job(1, 0, 4, 100)));

  scene.run();

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Admit);
  EXPECT_LE(scene.finish(1), 60 + 400);
  EXPECT_EQ(scene.starts(), 1);
}

TEST_P(Planning, GoesOnWithAJobThatTakesLongerThanPlanned) {
  Scene scene(make(), {.slot_seconds = 10});
  scene.submit(best_effort(linear_job(1, 0, 4, 200)));
  scene.run_until(90);
  ASSERT_GT(scene.share(1), 0);

  scene.measure(1, 0.5);
  scene.run();

  EXPECT_GT(scene.finish(1), 0);
  EXPECT_EQ(scene.starts(), 1);
}

TEST_P(Planning, WaitsForNodesToComeBack) {
  Scene scene(make(), {.cluster = "1x4"});
  scene.submit(best_effort(linear_job(1, 0, 4, 100)));
  scene.run_until(80);
  scene.set_node(NodeId{0}, false);
  scene.run_until(500);
  EXPECT_EQ(scene.share(1), 0);

  scene.set_node(NodeId{0}, true);
  scene.run();

  EXPECT_GT(scene.finish(1), 500);
}

TEST_P(Planning, RefusesWhoCanRunNowhere) {
  Scene scene(make());
  Job unknown = linear_job(1, 0, 1, 10);
  unknown.gpu_type = "elsewhere";
  scene.submit(unknown);

  scene.run();

  EXPECT_EQ(scene.verdict(1).kind, VerdictKind::Refuse);
  EXPECT_EQ(scene.verdict(1).reason, Reason::UnknownSpeed);
}

TEST_P(Planning, UsesThePoolThatKnowsTheJob) {
  Scene scene(make(), {.cluster = "1x4:A+1x4:B", .speeds = linear_speeds("B")});
  scene.submit(best_effort(linear_job(1, 0, 2, 1000)));

  scene.run_until(70);

  EXPECT_GT(scene.share(1), 0);
  EXPECT_EQ(scene.jobs().at(JobId{1}).pool(), PoolId{1});
}

TEST_P(Planning, BeginsOnlyWhereDataHaveArrived) {
  Scene scene(make(), {.cluster = "1x4@cloud/1000"});
  Job job = best_effort(linear_job(1, 0, 4, 100));
  job.region = "home";
  job.data_gb = 1;
  scene.submit(job);

  scene.run_until(990);
  EXPECT_EQ(scene.share(1), 0);
  scene.run();

  EXPECT_GE(scene.finish(1), 1100);
}

TEST_P(Planning, TakesOnlyItsOwnStateAndOptions) {
  auto policy = GetParam().make(PolicyOptions{}).value();
  EXPECT_FALSE(policy->load("nonsense 1\n").ok());
  EXPECT_FALSE(policy->load("plan 1\n").ok());
  EXPECT_FALSE(GetParam().make(PolicyOptions::parse("colour=red").value()).ok());
  EXPECT_FALSE(GetParam().make(PolicyOptions::parse("slot=-1").value()).ok());
  EXPECT_TRUE(GetParam().make(PolicyOptions::parse("slot=60").value()).ok());
}

TEST(OnGrid, RoundsUpToWholeSlots) {
  EXPECT_EQ(on_grid(at_seconds(61), from_seconds(60)), at_seconds(120));
  EXPECT_EQ(on_grid(at_seconds(60), from_seconds(60)), at_seconds(60));
  EXPECT_EQ(on_grid(at_seconds(61), Duration{}), at_seconds(61));
  EXPECT_EQ(on_grid(kNever, from_seconds(60)), kNever);
}

TEST(SlotEdges, ReachFarInFewSlotsIfTheyGrow) {
  const auto even = slot_edges(at_seconds(60), from_seconds(10), 3, from_seconds(60), false);
  const auto grown = slot_edges(at_seconds(0), from_seconds(10), 100, Duration{}, true);

  EXPECT_EQ(even, (std::vector<Instant>{at_seconds(60), at_seconds(120), at_seconds(180),
                                        at_seconds(240)}));
  EXPECT_EQ(grown.size(), 101U);
  EXPECT_EQ(grown[1], at_seconds(10));
  EXPECT_GT(grown.back(), at_seconds(10'000));
  EXPECT_EQ(slot_edges(at_seconds(0), kLongest, 3, Duration{}, true).size(), 1U);
}

}  // namespace
}  // namespace rubato::policy::planning
