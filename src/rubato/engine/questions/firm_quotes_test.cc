#include "rubato/engine/answers/firm_quotes.h"

#include <gtest/gtest.h>

#include "rubato/engine/questions/forecast.h"
#include "rubato/engine/testing/random_run_test.h"

namespace rubato {
namespace {

World firm_world() { return World{.firm_quotes = 0.05}; }

Verdict answer_to(Engine& engine, double now, const Job& job) {
  const auto answers = only<Answer>(engine.on(at(now), Arrival{.job = job}));
  return answers.empty() ? Verdict{.kind = VerdictKind::Defer} : answers.back().verdict;
}

const JobState& state_of(const Engine& engine, std::uint64_t id) {
  return engine.state().jobs.at(JobId{id});
}

// Alone it would take 300 s on all four GPUs; half way to its deadline two of them suffice.
Job patient_job() { return due(1200, job(100, 1200)); }

// Fits beside the patient job's deadline, not beside its quote.
Job urgent_job() { return due(700, job(101, 2400)); }

// Quotes of jobs that come and go at once.
void give_quotes(Engine& engine, int count) {
  for (int i = 1; i <= count; ++i) {
    const auto id = static_cast<std::uint64_t>(i);
    (void)engine.on(at(0), Arrival{.job = due(1000, job(id, 10))});
    (void)engine.on(at(0), Completion{.job = JobId{id}});
  }
}

TEST(FirmQuotes, LieBetweenTheSoonestFinishAndTheDeadline) {
  Engine engine = firm_world().engine("elasticflow");

  const Verdict verdict = answer_to(engine, 0, patient_job());

  EXPECT_EQ(verdict.kind, VerdictKind::Admit);
  EXPECT_EQ(verdict.promised, at(1200));
  EXPECT_GT(verdict.quoted, at(300));
  EXPECT_LT(verdict.quoted, at(800));
  EXPECT_LT(state_of(engine, 100).job.deadline, at(1200));
}

TEST(FirmQuotes, HurryNobodyThoughGpusAreIdle) {
  Engine engine = firm_world().engine("elasticflow");
  Engine forecasting = World{}.engine("elasticflow");
  for (Engine* each : {&engine, &forecasting}) {
    (void)each->on(at(0), Arrival{.job = patient_job()});
    (void)each->on(at(0), Tick{});
  }

  EXPECT_EQ(state_of(forecasting, 100).share, 4);
  EXPECT_LE(state_of(engine, 100).share, 2);
  EXPECT_EQ(forecast(engine, JobId{100}).finish, state_of(engine, 100).quote.finish);
}

TEST(FirmQuotes, KeepOutWhoWouldDelayOthers) {
  Engine engine = firm_world().engine("elasticflow");
  Engine forecasting = World{}.engine("elasticflow");
  (void)engine.on(at(0), Arrival{.job = patient_job()});
  (void)forecasting.on(at(0), Arrival{.job = patient_job()});

  EXPECT_EQ(answer_to(forecasting, 0, urgent_job()).kind, VerdictKind::Admit);
  EXPECT_EQ(answer_to(engine, 0, urgent_job()).kind, VerdictKind::Refuse);
  EXPECT_TRUE(state_of(engine, 100).quote.is_kept());
}

TEST(FirmQuotes, YieldToANewcomerOnceInTwenty) {
  Engine engine = firm_world().engine("elasticflow");
  give_quotes(engine, 19);
  (void)engine.on(at(0), Arrival{.job = patient_job()});
  ASSERT_EQ(engine.state().quote_count.given, 20U);

  EXPECT_EQ(answer_to(engine, 0, urgent_job()).kind, VerdictKind::Admit);

  EXPECT_FALSE(state_of(engine, 100).quote.is_kept());
  EXPECT_EQ(state_of(engine, 100).job.deadline, at(1200));
  EXPECT_EQ(engine.state().quote_count.yielded, 1U);
  EXPECT_LE(forecast(engine, JobId{100}).finish, at(1200));
  EXPECT_LE(forecast(engine, JobId{101}).finish, at(700));
  EXPECT_TRUE(engine.audit().empty());
}

TEST(FirmQuotes, AreWhatAQuestionIsAnswered) {
  for (const int given : {0, 19}) {
    Engine engine = firm_world().engine("elasticflow");
    give_quotes(engine, given);
    (void)engine.on(at(0), Arrival{.job = patient_job()});
    const std::string before = engine.save();

    const Verdict quoted = engine.quote(at(0), urgent_job()).verdict;

    EXPECT_EQ(engine.save(), before);
    const Verdict told = answer_to(engine, 0, urgent_job());
    EXPECT_EQ(quoted.kind, told.kind);
    EXPECT_EQ(quoted.promised, told.promised);
    EXPECT_EQ(quoted.quoted, told.quoted);
  }
}

// A node is gone: whose quote cannot be kept any more still has its promise.
TEST(FirmQuotes, GiveWayToThePromiseWhenNodesAreLost) {
  Engine engine = World{.cluster = "2x2", .firm_quotes = 0.05}.engine("elasticflow");
  (void)engine.on(at(0), Arrival{.job = due(1000, job(1, 700))});
  (void)engine.on(at(0), Arrival{.job = due(1000, job(2, 700))});
  (void)engine.on(at(0), Tick{});
  (void)engine.on(at(100), NodeChange{.node = NodeId{1}, .up = false});
  (void)engine.on(at(101), Tick{});

  EXPECT_LE(forecast(engine, JobId{1}).finish, at(1000));
  EXPECT_LE(forecast(engine, JobId{2}).finish, at(1000));
}

TEST(FirmQuotes, NeedAPolicyThatCanKeepThem) {
  const World world = firm_world();
  const auto made = Engine::make(world.topology(), SpeedBook(world.speeds, world.topology()),
                                 "srtf", world.options());
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, "policy srtf cannot keep quotes; use elasticflow");
}

TEST(FirmQuotes, GoOnFromACheckpointAsBefore) {
  for (const ResizeCostModel accounting : {ResizeCostModel::None, ResizeCostModel::Physical}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const World world{
          .cluster = "4x4", .accounting = accounting, .seed = seed, .firm_quotes = 0.05};
      Engine original = world.engine("elasticflow");
      RandomRun run(original, seed);
      for (int i = 0; i < 80; ++i) {
        run.step();
        ASSERT_EQ(original.audit(), std::vector<std::string>{}) << "seed " << seed;
      }
      ASSERT_GT(original.state().quote_count.given, 0U);
      Engine copy = world.engine("elasticflow");
      ASSERT_TRUE(copy.load(original.save()).ok());
      EXPECT_EQ(copy.save(), original.save());

      const Job next = run.draw_job();
      std::string expected;
      std::string found;
      for (const Command& command : original.on(run.now(), Arrival{.job = next})) {
        expected += command_line(command);
      }
      for (const Command& command : copy.on(run.now(), Arrival{.job = next})) {
        found += command_line(command);
      }
      EXPECT_EQ(found, expected) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace rubato
