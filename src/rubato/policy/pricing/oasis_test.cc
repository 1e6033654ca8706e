#include "rubato/policy/pricing/oasis.h"

#include <map>

#include <gtest/gtest.h>

#include "rubato/policy/testing/policy_scene.h"

namespace rubato::policy::pricing {
namespace {

Scene::Make oasis(const planning::PlanningOptions& options = {}) {
  return [options] { return Result<std::unique_ptr<Policy>>(make_oasis(options)); };
}

Job worth_without_deadline(double amount, double decay, Job job) {
  job.job_class = JobClass::BestEffort;
  job.value = {.kind = ValueKind::LinearAfterDeadline, .amount = amount, .decay = decay};
  return job;
}

TEST(Oasis, FinishesEarlyWhatLosesValueAndSparesGpusForTheRest) {
  Scene scene(oasis());
  scene.submit({worth_without_deadline(100, 0.9, linear_job(1, 0, 1, 40)),
                worth_without_deadline(100, 0, linear_job(2, 1, 1, 40))});

  scene.run();

  EXPECT_LE(scene.finish(1), 15);
  EXPECT_GT(scene.finish(2), 30);  // In no hurry: it takes the cheap GPUs.
}

TEST(Oasis, ChargesNothingBeforeItKnowsPricesAndLessThanTheValueAfter) {
  Scene scene(oasis());
  scene.submit({worth_without_deadline(10, 0.01, linear_job(1, 0, 1, 40)),
                worth_without_deadline(10, 0.01, linear_job(2, 1, 1, 40))});

  scene.run();

  EXPECT_EQ(scene.verdict(1).payment, 0);
  EXPECT_GT(scene.verdict(2).payment, 0);
  EXPECT_LT(scene.verdict(2).payment, 10);
}

TEST(Oasis, RefusesWhatIsWorthLessThanTheGpusItWouldTake) {
  Scene scene(oasis());
  std::vector<Job> jobs;
  for (std::uint64_t id = 1; id <= 8; ++id) {
    jobs.push_back(worth_without_deadline(100, 0.1, linear_job(id, 0, 1, 400)));
  }
  jobs.push_back(worth_without_deadline(1, 0.01, linear_job(9, 1, 1, 400)));
  jobs.push_back(worth_without_deadline(1000, 1, linear_job(10, 2, 1, 40)));
  scene.submit(jobs);

  scene.run();

  EXPECT_EQ(scene.verdict(9).kind, VerdictKind::Refuse);
  EXPECT_EQ(scene.verdict(9).reason, Reason::PriceTooHigh);
  EXPECT_EQ(scene.verdict(10).kind, VerdictKind::Admit);
}

TEST(Oasis, SaysWhenADeadlineIsImpossible) {
  Scene scene(oasis());
  scene.submit({due_at(9, linear_job(1, 0, 1, 40)), due_at(0, linear_job(2, 0, 1, 40)),
                due_at(12, linear_job(3, 0, 1, 40))});

  scene.run();

  EXPECT_EQ(scene.verdict(1).reason, Reason::DeadlineTooSoon);
  EXPECT_EQ(scene.verdict(2).reason, Reason::DeadlinePassed);
  EXPECT_EQ(scene.verdict(3).kind, VerdictKind::Admit);
  EXPECT_LE(scene.finish(3), 12);
}

TEST(Oasis, PlansTheEarliestFinishWhileEverythingIsFree) {
  std::vector<SpeedRow> rows;
  for (const auto& [gpus, speed] : std::map<int, double>{{1, 1}, {2, 1.5}, {3, 1.75}, {4, 2}}) {
    rows.push_back({.model = "linear", .batch = 1, .gpus = gpus, .speed = speed});
  }
  Scene scene(oasis({.slot = from_seconds(1), .horizon = 10}), {.speeds = rows});
  Job job = linear_job(1, 0, 1, 3);
  job.workers.listed = {1, 2, 3, 4};
  scene.submit(worth_without_deadline(10, 4, job));

  scene.run_until(0.5);

  // No prices yet, so the earliest finish: three units of work at speed two take two slots.
  ASSERT_FALSE(scene.jobs().at(JobId{1}).plan.empty());
  EXPECT_LE(scene.jobs().at(JobId{1}).plan.finish(), at_seconds(2));
}

TEST(Oasis, LetsSlotsGrowForAJobThatIsLongerThanTheHorizon) {
  Scene scene(oasis({.slot = from_seconds(1), .horizon = 10}));
  scene.submit(worth_without_deadline(10, 0, linear_job(1, 0, 1, 40'000)));

  scene.run();

  EXPECT_GT(scene.finish(1), 0);
}

}  // namespace
}  // namespace rubato::policy::pricing
