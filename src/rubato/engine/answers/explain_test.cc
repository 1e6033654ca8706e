#include "rubato/engine/answers/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/engine/testing/scripted_engine_test.h"

namespace rubato {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Why, ARunningJobTellsHowFarItIs) {
  ScriptedEngine engine;
  engine.arrive(0, job(1, 100));
  engine.round(0, {{1, 2}});

  const Explanation why = engine.engine().why(at(20), JobId{1}).value();

  EXPECT_EQ(why.standing, "running");
  EXPECT_EQ(why.reason, Reason::None);
  EXPECT_EQ(why.binding, "2 workers, 40 of 100 steps done, done in 30 s at this pace");
}

TEST(Why, ARunningJobBeyondItsExpectedFinishIsDoneInNoTime) {
  ScriptedEngine engine;
  engine.arrive(0, job(1, 100));
  engine.round(0, {{1, 2}});

  const Explanation why = engine.engine().why(at(80), JobId{1}).value();

  EXPECT_EQ(why.binding, "2 workers, 100 of 100 steps done, done in 0 s at this pace");
}

TEST(Why, AQueuedJobWaitsForGpus) {
  ScriptedEngine engine;
  engine.arrive(0, job(1, 100));
  engine.arrive(0, job(2, 100));
  engine.round(0, {{1, 4}});

  const Explanation why = engine.engine().why(at(1), JobId{2}).value();

  EXPECT_EQ(why.standing, "waiting");
  EXPECT_EQ(why.reason, Reason::WaitingForGpus);
  EXPECT_EQ(why.binding, "0 of 4 GPUs are free, 2 active jobs");
  EXPECT_THAT(why.remedy, HasSubstr("more GPUs would start it sooner"));
}

TEST(Why, APlannedJobWaitsForItsTurn) {
  ScriptedEngine engine;
  engine.arrive(0, job(1, 100));
  const Plan plan{.segments = {{.from = at(60), .to = at(90), .workers = 4}}};
  engine.decide(0, Decision{.plans = {JobPlan{.job = JobId{1}, .plan = plan}}});

  const Explanation why = engine.engine().why(at(10), JobId{1}).value();

  EXPECT_EQ(why.reason, Reason::WaitingForTurn);
  EXPECT_EQ(why.binding, "planned to start in 50 s with 4 workers");
  EXPECT_THAT(why.remedy, HasSubstr("earlier deadline"));
}

TEST(Why, AJobBetweenTwoStretchesOfItsPlanWaitsForTheNext) {
  ScriptedEngine engine;
  engine.arrive(0, job(1, 100));
  const Plan plan{.segments = {{.from = at(0), .to = at(10), .workers = 4},
                               {.from = at(60), .to = at(90), .workers = 2}}};
  engine.decide(0, Decision{.plans = {JobPlan{.job = JobId{1}, .plan = plan}}});

  const Explanation why = engine.engine().why(at(20), JobId{1}).value();

  EXPECT_EQ(why.binding, "planned to start in 40 s with 2 workers");
}

TEST(Why, AJobWhoseNodeWentDownSaysSo) {
  ScriptedEngine engine(World{.cluster = "2x4"});
  engine.arrive(0, job(1, 100));
  engine.round(0, {{1, 8}});
  engine.on(5, NodeChange{.node = NodeId{0}, .up = false});

  const Explanation why = engine.engine().why(at(6), JobId{1}).value();

  EXPECT_EQ(why.reason, Reason::NodesDown);
  EXPECT_EQ(why.binding, "4 of 8 GPUs are up, 4 of them free");
  EXPECT_THAT(why.remedy, HasSubstr("return"));
}

TEST(Why, AnUnknownJobIsNotFound) {
  ScriptedEngine engine;

  const auto why = engine.engine().why(at(0), JobId{7});

  ASSERT_FALSE(why.ok());
  EXPECT_EQ(why.error().code, ErrorCode::NotFound);
  EXPECT_EQ(why.error().message, "job 7 is neither active nor among the last refusals");
}

// What is said about a job that is refused for this reason.
Explanation why_refused(Reason reason, const Job& job) {
  ScriptedEngine engine;
  engine.script().next =
      Decision{.verdicts = {Verdict{.job = job.id, .kind = VerdictKind::Refuse, .reason = reason}}};
  engine.arrive(to_seconds(job.arrival), job);
  return engine.engine().why(at(100), job.id).value();
}

TEST(Why, ARefusedJobIsToldTheTimeItHadAndTheTimeItNeeds) {
  const Job urgent = due(20, job(1, 100));
  for (const Reason reason :
       {Reason::DeadlineTooSoon, Reason::PromisesInTheWay, Reason::ResizeCostInTheWay,
        Reason::BatchRefused, Reason::LateJobVeto}) {
    const Explanation why = why_refused(reason, urgent);

    EXPECT_EQ(why.standing, "refused");
    EXPECT_EQ(why.reason, reason);
    EXPECT_EQ(why.binding, std::string(sentence(reason)) +
                               " It had 20 s until its deadline and needs at least 25 s alone.");
    EXPECT_THAT(why.remedy, Not(IsEmpty())) << to_string(reason);
  }
}

TEST(Why, ADeadlineThatHadPassedIsToldByHowMuch) {
  const Explanation why = why_refused(Reason::DeadlinePassed, due(20, job(1, 100, 50)));

  EXPECT_THAT(why.binding, HasSubstr("Its deadline was 30 s before it arrived and it needs at "
                                     "least 25 s alone."));
  EXPECT_THAT(why.remedy, HasSubstr("later deadline"));
}

TEST(Why, AnUnknownModelIsNamed) {
  Job strange = due(20, job(1, 100));
  strange.model = "colossus";
  strange.gpu_type = "T4";

  const Explanation why = why_refused(Reason::UnknownSpeed, strange);

  EXPECT_THAT(why.binding, HasSubstr("Its model is 'colossus' at batch 1, its GPU type 'T4'."));
  EXPECT_THAT(why.remedy, HasSubstr("Measure"));
}

TEST(Why, AJobThatIsTooWideIsToldTheSizeOfTheLargestPool) {
  Job wide = due(20, job(1, 100));
  wide.workers.min = 8;

  const Explanation why = why_refused(Reason::TooWide, wide);

  EXPECT_THAT(why.binding,
              HasSubstr("It accepts no fewer than 8 workers; the largest pool has 4 GPUs."));
  EXPECT_THAT(why.remedy, HasSubstr("fewer workers"));
}

TEST(Why, EveryReasonAPolicyGivesHasARemedy) {
  for (int i = static_cast<int>(Reason::UnknownSpeed); i < kReasons; ++i) {
    const Explanation why = why_refused(static_cast<Reason>(i), due(20, job(1, 100)));

    EXPECT_THAT(why.remedy, Not(IsEmpty())) << to_string(static_cast<Reason>(i));
  }
}

TEST(Refusals, KeepTheLatestWordOnAJobAndForgetTheOldest) {
  Refusals refusals;
  for (std::uint64_t id = 0; id <= Refusals::kKept; ++id) {
    refusals.add(Job{.id = JobId{id}}, Verdict{.job = JobId{id}, .reason = Reason::TooWide});
  }

  refusals.add(Job{.id = JobId{5}}, Verdict{.job = JobId{5}, .reason = Reason::DeadlinePassed});

  EXPECT_EQ(refusals.find(JobId{0}), nullptr);
  ASSERT_NE(refusals.find(JobId{5}), nullptr);
  EXPECT_EQ(refusals.find(JobId{5})->verdict.reason, Reason::DeadlinePassed);
  EXPECT_NE(refusals.find(JobId{Refusals::kKept}), nullptr);
}

}  // namespace
}  // namespace rubato
