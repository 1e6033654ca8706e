#include "rubato/engine/engine.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/engine/testing/scripted_engine_test.h"

namespace rubato {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(Engine, NamesTheNearestPolicyWhenTheNameIsWrong) {
  const Topology topology = Topology::parse("1x4").value();

  const auto engine = Engine::make(topology, SpeedBook({}, topology), "elasticfow", {});

  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.error().message, "unknown policy 'elasticfow'; did you mean 'elasticflow'?");
}

TEST(Engine, AnswersAnArrivalAndStartsItAtTheRound) {
  Engine engine = World{}.engine("fifo");

  const Commands answer = engine.on(at(0), Arrival{.job = job(1, 100)});
  const Commands round = engine.on(at(0), Tick{});

  EXPECT_EQ(only<Answer>(answer).at(0).verdict.kind, VerdictKind::Admit);
  EXPECT_EQ(only<Wake>(answer).at(0).at, at(0));
  EXPECT_EQ(runs_of(round).at(0).placement.gpus(), 1);
  EXPECT_THAT(engine.audit(), IsEmpty());
}

TEST(Engine, OneRoundServesAllArrivalsOfAnInstant) {
  Engine engine = World{}.engine("fifo");
  for (std::uint64_t id = 1; id <= 3; ++id) {
    EXPECT_THAT(runs_of(engine.on(at(5), Arrival{.job = job(id, 100, 5)})), IsEmpty());
  }

  const Commands round = engine.on(at(5), Tick{});

  EXPECT_THAT(runs_of(round), SizeIs(3));
  EXPECT_EQ(engine.state().rounds, 1);
}

TEST(Engine, GpusOfACompletionServeAnArrivalOfTheSameInstant) {
  Engine engine = World{.cluster = "1x1"}.engine("fifo");
  (void)engine.on(at(0), Arrival{.job = job(1, 10)});
  (void)engine.on(at(0), Tick{});

  (void)engine.on(at(10), Completion{.job = JobId{1}});
  (void)engine.on(at(10), Arrival{.job = job(2, 10, 10)});
  const Commands round = engine.on(at(10), Tick{});

  EXPECT_EQ(runs_of(round).at(0).job, JobId{2});
}

TEST(Engine, IgnoresASecondCompletion) {
  ScriptedEngine engine;
  engine.arrive(0, job(1, 100));
  engine.round(0, {{1, 2}});
  engine.on(1, Completion{.job = JobId{1}});
  const std::size_t seen = engine.script().seen.size();

  const Commands again = engine.on(2, Completion{.job = JobId{1}});

  EXPECT_THAT(again, IsEmpty());
  EXPECT_EQ(engine.script().seen.size(), seen);
  EXPECT_EQ(engine.state().used.at(0), 0);
}

TEST(Engine, IgnoresReportsOfJobsThatAreUnknownOrStopped) {
  ScriptedEngine engine;
  engine.arrive(0, job(1, 100));
  const std::size_t seen = engine.script().seen.size();

  const Commands unknown = engine.on(1, ProgressReport{.job = JobId{9}, .done = 5, .workers = 1});
  const Commands stopped = engine.on(1, ProgressReport{.job = JobId{1}, .done = 5, .workers = 1});

  EXPECT_THAT(unknown, IsEmpty());
  EXPECT_THAT(stopped, IsEmpty());
  EXPECT_EQ(engine.script().seen.size(), seen);
  EXPECT_EQ(engine.job(1).progress.done, 0);
}

TEST(Engine, IgnoresAReportThatIsNoNumber) {
  ScriptedEngine engine;
  engine.arrive(0, job(1, 100));
  engine.round(0, {{1, 1}});

  engine.on(10,
            ProgressReport{
                .job = JobId{1}, .done = std::numeric_limits<double>::quiet_NaN(), .workers = 1});

  EXPECT_EQ(engine.job(1).progress.at(at(10)), 10);
}

TEST(Engine, TakesDoneAndSpeedFromAReport) {
  ScriptedEngine engine;
  engine.arrive(0, job(1, 100));
  engine.round(0, {{1, 2}});

  engine.on(10, ProgressReport{.job = JobId{1}, .done = 12, .speed = 1, .workers = 2});

  EXPECT_EQ(engine.job(1).speed_factor, 0.5);
  EXPECT_EQ(engine.job(1).progress.at(at(20)), 22);
}

TEST(Engine, TakesNoSpeedFromAReportMadeBeforeTheJobShrank) {
  ScriptedEngine engine;
  engine.arrive(0, job(1, 100));
  engine.round(0, {{1, 4}});
  engine.round(5, {{1, 1}});

  engine.on(6, ProgressReport{.job = JobId{1}, .done = 20, .speed = 4, .workers = 4});

  EXPECT_EQ(engine.job(1).speed_factor, 1);
  EXPECT_EQ(engine.job(1).progress.at(at(10)), 24);
}

TEST(Engine, SuspendsAJobThatLostAWorkerAndKeepsWhatItReported) {
  ScriptedEngine engine;
  engine.arrive(0, job(1, 100));
  engine.round(0, {{1, 4}});

  const Commands commands =
      engine.on(10, ProgressReport{.job = JobId{1}, .done = 39, .workers = 3});

  EXPECT_THAT(only<Suspend>(commands), SizeIs(1));
  EXPECT_EQ(engine.job(1).share, 0);
  EXPECT_EQ(engine.job(1).progress.at(at(99)), 39);
  EXPECT_EQ(engine.job(1).usage.gpu_seconds, 40);
  EXPECT_EQ(engine.state().used.at(0), 0);
  EXPECT_THAT(engine.engine().audit(), IsEmpty());
}

TEST(Engine, NodeLossSuspendsExactlyTheJobsOnTheNode) {
  ScriptedEngine engine(World{.cluster = "3x4"});
  for (std::uint64_t id = 1; id <= 3; ++id) {
    engine.arrive(0, job(id, 1000));
  }
  engine.round(0, {{1, 4}, {2, 4}, {3, 2}});
  const NodeId lost =
      engine.state().topology.node_of(PoolId{}, engine.job(2).placement.ranges.front().first).id;

  const Commands commands = engine.on(10, NodeChange{.node = lost, .up = false});

  ASSERT_THAT(only<Suspend>(commands), SizeIs(1));
  EXPECT_EQ(only<Suspend>(commands).at(0).job, JobId{2});
  EXPECT_EQ(engine.job(2).reason, Reason::NodesDown);
  EXPECT_EQ(engine.state().capacity.at(0), 8);
  EXPECT_EQ(engine.state().used.at(0), 6);
  EXPECT_THAT(engine.engine().audit(), IsEmpty());
}

TEST(Engine, GpusOfALostNodeAreNotHandedOutUntilItReturns) {
  ScriptedEngine engine(World{.cluster = "2x4"});
  engine.arrive(0, job(1, 1000));
  engine.arrive(0, job(2, 1000));
  engine.on(1, NodeChange{.node = NodeId{0}, .up = false});

  const Commands too_much = engine.round(2, {{1, 4}, {2, 4}});
  engine.on(3, NodeChange{.node = NodeId{0}, .up = true});
  const Commands enough = engine.round(4, {{1, 4}, {2, 4}});

  EXPECT_EQ(only<Alarm>(too_much).at(0).fault, "pool 0: 8 GPUs handed out, 4 are up");
  EXPECT_THAT(runs_of(enough), SizeIs(2));
  EXPECT_THAT(engine.engine().audit(), IsEmpty());
}

TEST(Engine, IgnoresANodeChangeThatChangesNothing) {
  ScriptedEngine engine(World{.cluster = "2x4"});

  const Commands commands = engine.on(1, NodeChange{.node = NodeId{1}, .up = true});

  EXPECT_THAT(commands, IsEmpty());
  EXPECT_THAT(engine.script().seen, IsEmpty());
  EXPECT_EQ(engine.state().capacity.at(0), 8);
}

TEST(Engine, RaisesAnAlarmAboutANodeThatIsNotThere) {
  ScriptedEngine engine;

  const Commands commands = engine.on(1, NodeChange{.node = NodeId{7}, .up = false});

  EXPECT_EQ(only<Alarm>(commands).at(0).fault, "node 7 is unknown");
}

TEST(Engine, RaisesAnAlarmWhenAJobArrivesTwice) {
  ScriptedEngine engine;
  engine.arrive(0, job(1, 100));

  const Commands commands = engine.arrive(1, job(1, 5));

  EXPECT_EQ(only<Alarm>(commands).at(0).fault, "job 1 arrived twice");
  EXPECT_EQ(engine.job(1).job.work, 100);
}

TEST(Engine, ABadDecisionBecomesAnAlarmAndChangesNothing) {
  ScriptedEngine engine;
  engine.arrive(0, job(1, 100));
  engine.arrive(0, job(2, 100));
  engine.round(0, {{1, 2}});
  const Decision bad{
      .verdicts = {Verdict{.job = JobId{2}, .kind = VerdictKind::Demote}},
      .is_round = true,
      .targets = {Target{.job = JobId{1}, .workers = 1}, Target{.job = JobId{2}, .workers = 4}},
      .wake_at = at(50)};

  const Commands commands = engine.decide(10, bad);

  ASSERT_THAT(commands, SizeIs(1));
  EXPECT_EQ(only<Alarm>(commands).at(0).fault, "pool 0: 5 GPUs handed out, 4 are up");
  EXPECT_EQ(engine.job(1).share, 2);
  EXPECT_EQ(engine.job(2).job_class, JobClass::Slo);
  EXPECT_EQ(engine.state().rounds, 1);
  EXPECT_EQ(engine.state().wake, kNever);
}

TEST(Engine, AnAdmittedJobCannotBeRefusedLater) {
  ScriptedEngine engine;
  engine.arrive(0, job(1, 100));

  const Commands commands = engine.decide(
      1, Decision{.verdicts = {Verdict{.job = JobId{1}, .kind = VerdictKind::Refuse}}});

  EXPECT_EQ(only<Alarm>(commands).at(0).fault, "job 1 was admitted and cannot be refused now");
  EXPECT_TRUE(engine.job(1).admitted);
}

TEST(Engine, ARefusedJobLeavesEvenIfTheDecisionAlsoStopsIt) {
  ScriptedEngine engine;
  engine.script().next =
      Decision{.verdicts = {Verdict{.job = JobId{1}, .kind = VerdictKind::Refuse}},
               .is_round = true,
               .targets = {Target{.job = JobId{1}, .workers = 0}}};

  const Commands commands = engine.arrive(0, job(1, 100));

  EXPECT_THAT(only<Answer>(commands), SizeIs(1));
  EXPECT_EQ(engine.state().jobs.size(), 0U);
}

TEST(Engine, ADemotedJobLosesItsPromise) {
  ScriptedEngine engine;
  engine.script().next = Decision{.verdicts = {Verdict{.job = JobId{1}, .promised = at(50)}}};
  engine.arrive(0, due(50, job(1, 100)));

  engine.decide(1, Decision{.verdicts = {Verdict{.job = JobId{1}, .kind = VerdictKind::Demote}}});

  EXPECT_EQ(engine.job(1).promised, kNever);
  EXPECT_EQ(engine.job(1).job_class, JobClass::BestEffort);
}

TEST(Engine, AsksToBeWokenOnlyWhenTheWishChanges) {
  ScriptedEngine engine;

  const Commands first = engine.decide(0, Decision{.wake_at = at(10)}, Arrival{.job = job(1, 1)});
  const Commands same = engine.decide(1, Decision{.wake_at = at(10)}, Arrival{.job = job(2, 1)});
  const Commands other = engine.decide(2, Decision{.wake_at = at(20)}, Arrival{.job = job(3, 1)});
  const Commands none = engine.decide(3, Decision{}, Arrival{.job = job(4, 1)});

  EXPECT_EQ(only<Wake>(first).at(0).at, at(10));
  EXPECT_THAT(only<Wake>(same), IsEmpty());
  EXPECT_EQ(only<Wake>(other).at(0).at, at(20));
  EXPECT_EQ(only<Wake>(none).at(0).at, kNever);
}

TEST(Engine, ATickUsesTheWishUp) {
  ScriptedEngine engine;
  engine.decide(0, Decision{.wake_at = at(10)});

  const Commands again = engine.decide(10, Decision{.wake_at = at(10)});
  const Commands last = engine.decide(10, Decision{});

  EXPECT_EQ(only<Wake>(again).at(0).at, at(10));
  EXPECT_THAT(only<Wake>(last), IsEmpty());
}

TEST(Engine, AnEarlyTickLeavesTheWishStanding) {
  ScriptedEngine engine;
  engine.decide(0, Decision{.wake_at = at(10)});

  const Commands same = engine.decide(5, Decision{.wake_at = at(10)});
  const Commands none = engine.decide(6, Decision{});

  EXPECT_THAT(only<Wake>(same), IsEmpty());
  EXPECT_EQ(only<Wake>(none).at(0).at, kNever);
}

TEST(Engine, OnAGridWakesAtMultiplesOfTheSlot) {
  ScriptedEngine engine(World{.slot_seconds = 60, .grid = true});

  const Commands before = engine.decide(1, Decision{.wake_at = at(1)});
  const Commands same = engine.decide(2, Decision{.wake_at = at(60)});
  const Commands after = engine.decide(60, Decision{.wake_at = at(60.5)});
  const Commands never = engine.decide(61, Decision{});

  EXPECT_EQ(only<Wake>(before).at(0).at, at(60));
  EXPECT_THAT(only<Wake>(same), IsEmpty());
  EXPECT_EQ(only<Wake>(after).at(0).at, at(120));
  EXPECT_EQ(only<Wake>(never).at(0).at, kNever);
}

TEST(Engine, OnAGridWakesAPolicyThatPromisesWhenItAsks) {
  ScriptedEngine promising(World{.slot_seconds = 60, .grid = true}, Traits{.promises = true});
  ScriptedEngine free(World{.slot_seconds = 60});

  EXPECT_EQ(only<Wake>(promising.decide(1, Decision{.wake_at = at(7)})).at(0).at, at(7));
  EXPECT_EQ(only<Wake>(free.decide(1, Decision{.wake_at = at(7)})).at(0).at, at(7));
}

/// Adapts between 64 and 1024 samples, and sees nothing but noise: the more samples the better.
Job adaptive(std::uint64_t id) {
  Job adaptive = job(id, 1e6);
  adaptive.batches = {.initial = 64, .max = 1024, .local_min = 8, .local_max = 512};
  return adaptive;
}

ProgressReport noisy_report(std::uint64_t id, int workers) {
  return {.job = JobId{id},
          .done = 1,
          .workers = workers,
          .step = StepObservation{.nodes = 1,
                                  .workers = workers,
                                  .local_batch = 32,
                                  .pass_seconds = 1,
                                  .step_seconds = 1.5,
                                  .gradient_variance = 1}};
}

TEST(Engine, StartsAnAdaptiveJobWithItsLeastBatch) {
  ScriptedEngine engine({}, Traits{.adapts_batch = true});
  engine.arrive(0, adaptive(1));
  engine.arrive(0, job(2, 100));

  const auto runs = runs_of(engine.round(0, {{1, 2}, {2, 1}}));

  EXPECT_EQ(runs.at(0).split, (BatchSplit{.local = 32}));
  EXPECT_TRUE(runs.at(1).split.is_own());
}

TEST(Engine, AdaptsTheBatchToWhatAJobReports) {
  ScriptedEngine engine({}, Traits{.adapts_batch = true});
  engine.arrive(0, adaptive(1));
  engine.round(0, {{1, 2}});

  const Commands first = engine.on(10, noisy_report(1, 2));
  const Commands again = engine.on(20, noisy_report(1, 2));

  ASSERT_THAT(only<Rebatch>(first), SizeIs(1));
  EXPECT_EQ(only<Rebatch>(first).at(0).job, JobId{1});
  EXPECT_EQ(only<Rebatch>(first).at(0).split, (BatchSplit{.local = 512}));
  EXPECT_EQ(engine.job(1).split, (BatchSplit{.local = 512}));
  EXPECT_THAT(only<Rebatch>(again), IsEmpty());
  EXPECT_EQ(runs_of(engine.round(30, {{1, 4}})).at(0).split, (BatchSplit{.local = 256}));
}

TEST(Engine, LeavesTheBatchAloneIfThePolicyDoesNotAdaptIt) {
  ScriptedEngine engine;
  engine.arrive(0, adaptive(1));

  const auto runs = runs_of(engine.round(0, {{1, 2}}));
  const Commands commands = engine.on(10, noisy_report(1, 2));

  EXPECT_TRUE(runs.at(0).split.is_own());
  EXPECT_THAT(only<Rebatch>(commands), IsEmpty());
}

TEST(Engine, DoesNotRebatchAJobThatLostItsWorkers) {
  ScriptedEngine engine({}, Traits{.adapts_batch = true});
  engine.arrive(0, adaptive(1));
  engine.round(0, {{1, 2}});
  ProgressReport report = noisy_report(1, 2);
  report.workers = 1;

  const Commands commands = engine.on(10, report);

  EXPECT_THAT(only<Suspend>(commands), SizeIs(1));
  EXPECT_THAT(only<Rebatch>(commands), IsEmpty());
}

}  // namespace
}  // namespace rubato
