#include "rubato/core/plan_checker.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/core/whole_seconds_test.h"

namespace rubato {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two pools of eight GPUs; job 1 is admitted and has four of pool 0, job 2 has no verdict yet.
class PlanChecker : public testing::Test {
 protected:
  PlanChecker() {
    JobState& running = jobs_.insert(Job{.id = JobId{1}});
    running.admitted = true;
    running.share = 4;
    running.placement = {.pool = PoolId{0}, .ranges = {{0, 4}}};
    jobs_.insert(Job{.id = JobId{2}});
  }

  [[nodiscard]] std::vector<std::string> check(const Decision& decision) const {
    return check_decision(decision, at(100), jobs_, {.capacity = capacity_, .used = used_});
  }

  static Decision round(std::vector<Target> targets, bool keep_others = true) {
    return {.is_round = true, .keep_others = keep_others, .targets = std::move(targets)};
  }
  static Decision planned(std::uint64_t job, Plan plan) {
    return {.plans = {JobPlan{.job = JobId{job}, .plan = std::move(plan)}}};
  }

  JobTable jobs_;
  std::array<int, 2> capacity_ = {8, 8};
  std::array<int, 2> used_ = {4, 0};
};

TEST_F(PlanChecker, FindsNothingWrongWithAnEmptyDecision) {
  EXPECT_THAT(check(Decision{}), IsEmpty());
}

TEST_F(PlanChecker, FindsAVerdictOnAnUnknownJob) {
  const Decision decision{.verdicts = {Verdict{.job = JobId{9}}}};

  EXPECT_THAT(check(decision), ElementsAre("verdict on unknown job 9"));
}

TEST_F(PlanChecker, FindsTwoVerdictsOnOneJob) {
  const Decision decision{.verdicts = {Verdict{.job = JobId{2}}, Verdict{.job = JobId{2}}}};

  EXPECT_THAT(check(decision), ElementsAre("job 2 has two verdicts"));
}

TEST_F(PlanChecker, FindsTheRefusalOfAnAdmittedJob) {
  const Decision decision{.verdicts = {Verdict{.job = JobId{1}, .kind = VerdictKind::Refuse}}};

  EXPECT_THAT(check(decision), ElementsAre("job 1 was admitted and cannot be refused now"));
}

TEST_F(PlanChecker, FindsATargetForAnUnknownJob) {
  EXPECT_THAT(check(round({{.job = JobId{9}, .workers = 1}})),
              ElementsAre("target for unknown job 9"));
}

TEST_F(PlanChecker, FindsTwoTargetsForOneJob) {
  EXPECT_THAT(check(round({{.job = JobId{1}, .workers = 1}, {.job = JobId{1}, .workers = 2}})),
              ElementsAre("job 1 has two targets"));
}

TEST_F(PlanChecker, FindsNegativeWorkersAndUnknownPools) {
  EXPECT_THAT(check(round({{.job = JobId{1}, .workers = -1}})),
              ElementsAre("job 1: -1 workers in pool 0"));
  EXPECT_THAT(check(round({{.job = JobId{1}, .pool = PoolId{2}, .workers = 1}})),
              ElementsAre("job 1: 1 workers in pool 2"));
}

TEST_F(PlanChecker, FindsAJobThatWouldRunWithoutAVerdict) {
  Decision decision = round({{.job = JobId{2}, .workers = 1}});

  EXPECT_THAT(check(decision), ElementsAre("job 2 would run without a verdict"));

  decision.verdicts = {Verdict{.job = JobId{2}, .kind = VerdictKind::Defer}};
  EXPECT_THAT(check(decision), ElementsAre("job 2 would run without a verdict"));

  decision.verdicts = {Verdict{.job = JobId{2}, .kind = VerdictKind::Demote}};
  EXPECT_THAT(check(decision), IsEmpty());
}

TEST_F(PlanChecker, FindsMoreGpusHandedOutThanAreUp) {
  Decision decision = round({{.job = JobId{2}, .workers = 5}});
  decision.verdicts = {Verdict{.job = JobId{2}}};

  EXPECT_THAT(check(decision), ElementsAre("pool 0: 9 GPUs handed out, 8 are up"));
}

TEST_F(PlanChecker, CountsWhatANamedJobGivesBack) {
  Decision decision = round({{.job = JobId{1}, .workers = 2}, {.job = JobId{2}, .workers = 6}});
  decision.verdicts = {Verdict{.job = JobId{2}}};

  EXPECT_THAT(check(decision), IsEmpty());
}

TEST_F(PlanChecker, CountsTheGpusOfJobsThatAreNotKeptAsFree) {
  Decision decision = round({{.job = JobId{2}, .workers = 8}}, /*keep_others=*/false);
  decision.verdicts = {Verdict{.job = JobId{2}}};

  EXPECT_THAT(check(decision), IsEmpty());
}

TEST_F(PlanChecker, AJobThatChangesPoolsFreesItsOldOne) {
  Decision decision = round({{.job = JobId{1}, .pool = PoolId{1}, .workers = 8},
                             {.job = JobId{2}, .pool = PoolId{0}, .workers = 8}});
  decision.verdicts = {Verdict{.job = JobId{2}}};

  EXPECT_THAT(check(decision), IsEmpty());
}

TEST_F(PlanChecker, IgnoresTargetsOutsideARound) {
  Decision decision = round({{.job = JobId{9}, .workers = 99}});
  decision.is_round = false;

  EXPECT_THAT(check(decision), IsEmpty());
}

TEST_F(PlanChecker, FindsAPlanForAnUnknownJobOrPool) {
  EXPECT_THAT(check(planned(9, {})), ElementsAre("plan for unknown job 9 or pool 0"));
  EXPECT_THAT(check(planned(1, {.pool = PoolId{2}})),
              ElementsAre("plan for unknown job 1 or pool 2"));
}

TEST_F(PlanChecker, FindsADisorderedPlan) {
  const auto disordered = ElementsAre("job 1: its plan is disordered");

  const Plan overlap{.segments = {{at(100), at(120), 1}, {at(110), at(130), 1}}};
  const Plan empty_stretch{.segments = {{at(100), at(100), 1}}};
  const Plan nobody{.segments = {{at(100), at(120), 0}}};

  EXPECT_THAT(check(planned(1, overlap)), disordered);
  EXPECT_THAT(check(planned(1, empty_stretch)), disordered);
  EXPECT_THAT(check(planned(1, nobody)), disordered);
}

TEST_F(PlanChecker, FindsAPlanThatLiesInThePast) {
  const Plan past{.segments = {{at(10), at(99), 1}}};
  const Plan begun{.segments = {{at(10), at(101), 1}}};

  EXPECT_THAT(check(planned(1, past)), ElementsAre("job 1: its plan lies in the past"));
  EXPECT_THAT(check(planned(1, begun)), IsEmpty());
}

TEST_F(PlanChecker, FindsEveryMomentAtWhichPlansNeedTooMuch) {
  const std::array<Plan, 3> plans = {Plan{.segments = {{at(0), at(10), 6}, {at(20), at(30), 6}}},
                                     Plan{.segments = {{at(5), at(25), 3}}},
                                     Plan{.pool = PoolId{1}, .segments = {{at(0), at(100), 8}}}};

  const auto faults = check_capacity(plans, capacity_);

  EXPECT_THAT(faults, ElementsAre("pool 0: 9 GPUs planned at 5 s, 8 are up",
                                  "pool 0: 9 GPUs planned at 20 s, 8 are up"));
}

TEST_F(PlanChecker, LetsOnePlanBeginWhereAnotherEnds) {
  const std::array<Plan, 2> plans = {Plan{.segments = {{at(0), at(10), 8}}},
                                     Plan{.segments = {{at(10), at(20), 8}}}};

  EXPECT_THAT(check_capacity(plans, capacity_), IsEmpty());
}

}  // namespace
}  // namespace rubato
