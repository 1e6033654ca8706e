#include "rubato/engine/answers/quote.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rubato/engine/testing/random_run_test.h"

namespace rubato {
namespace {

using testing::IsEmpty;

std::string text_of(const Verdict& verdict) { return command_line(Answer{.verdict = verdict}); }

const CounterOffer* offer(const Quote& quote, OfferKind kind) {
  const auto found = std::ranges::find(quote.offers, kind, &CounterOffer::kind);
  return found == quote.offers.end() ? nullptr : &*found;
}

// An engine of elasticflow that has promised these jobs, all of which arrived at 0.
Engine busy_engine(const World& world, std::initializer_list<Job> jobs) {
  Engine engine = world.engine("elasticflow");
  for (const Job& each : jobs) {
    (void)engine.on(at(0), Arrival{.job = each});
  }
  (void)engine.on(at(0), Tick{});
  return engine;
}

TEST(Quote, OfALoneJobHasItsGpuHoursAndItsEarliestFinish) {
  Engine engine = World{}.engine("elasticflow");

  const Quote quote = engine.quote(at(0), due(3600, job(1, 7200)));

  EXPECT_EQ(quote.verdict.kind, VerdictKind::Admit);
  EXPECT_EQ(quote.verdict.promised, at(3600));
  EXPECT_NEAR(quote.gpu_hours, 2, 0.03);  // The plan keeps some seconds in hand.
  EXPECT_NEAR(to_seconds(quote.earliest), 1800, 2);
  EXPECT_EQ(quote.provenance, Provenance::Measured);
  EXPECT_THAT(quote.offers, IsEmpty());
}

TEST(Quote, OfAnImpossibleDeadlineOffersALaterOneOrNone) {
  Engine engine = World{}.engine("elasticflow");

  const Quote quote = engine.quote(at(0), due(100, job(1, 7200)));

  EXPECT_EQ(quote.verdict.kind, VerdictKind::Refuse);
  EXPECT_EQ(quote.verdict.reason, Reason::DeadlineTooSoon);
  EXPECT_EQ(quote.gpu_hours, 0);
  ASSERT_NE(offer(quote, OfferKind::LaterDeadline), nullptr);
  EXPECT_NEAR(to_seconds(offer(quote, OfferKind::LaterDeadline)->deadline), 1800, 2);
  EXPECT_EQ(offer(quote, OfferKind::MoreGpus), nullptr);  // It cannot use more than there are.
  EXPECT_NE(offer(quote, OfferKind::BestEffort), nullptr);
}

TEST(Quote, OfAJobInOthersWayTellsHowManyGpusAreMissing) {
  const World world;
  Engine engine = busy_engine(world, {due(110, job(1, 300))});  // Three of four GPUs, nearly.

  const Quote quote = engine.quote(at(0), due(110, job(2, 300)));

  EXPECT_EQ(quote.verdict.reason, Reason::PromisesInTheWay);
  const CounterOffer* more = offer(quote, OfferKind::MoreGpus);
  ASSERT_NE(more, nullptr);
  World larger = world;
  larger.cluster = "1x" + std::to_string(4 + more->gpus);
  Engine with_more = busy_engine(larger, {due(110, job(1, 300))});
  EXPECT_EQ(with_more.quote(at(0), due(110, job(2, 300))).verdict.kind, VerdictKind::Admit);
  larger.cluster = "1x" + std::to_string(4 + more->gpus - 1);
  Engine with_fewer = busy_engine(larger, {due(110, job(1, 300))});
  EXPECT_EQ(with_fewer.quote(at(0), due(110, job(2, 300))).verdict.kind, VerdictKind::Refuse);
}

TEST(Quote, OffersNothingToAJobThatCanRunNowhere) {
  Engine engine = World{}.engine("elasticflow");
  Job wide = due(100, job(1, 10));
  wide.workers.min = 8;

  const Quote quote = engine.quote(at(0), wide);

  EXPECT_EQ(quote.verdict.kind, VerdictKind::Refuse);
  EXPECT_EQ(quote.earliest, kNever);
  EXPECT_THAT(quote.offers, IsEmpty());
}

TEST(Quote, FromAPolicyWithoutPromisesNamesNoEarliestFinish) {
  Engine engine = World{}.engine("fifo");

  const Quote quote = engine.quote(at(0), due(3600, job(1, 100)));

  EXPECT_EQ(quote.verdict.kind, VerdictKind::Admit);
  EXPECT_EQ(quote.earliest, kNever);
}

TEST(Quote, FromAPolicyThatAnswersLaterIsDeferred) {
  ScriptedEngine engine;
  engine.script().next = Decision{};

  const Quote quote = engine.engine().quote(at(0), job(7, 100));

  EXPECT_EQ(quote.verdict.kind, VerdictKind::Defer);
  EXPECT_EQ(quote.verdict.job, JobId{7});
}

TEST(Quote, OfAJobWithATakenIdIsThatOfANewOne) {
  Engine engine = busy_engine({}, {due(1000, job(1, 10))});

  const Quote quote = engine.quote(at(0), due(1000, job(1, 10)));

  EXPECT_EQ(quote.verdict.kind, VerdictKind::Admit);
  EXPECT_EQ(engine.state().jobs.size(), 1U);
}

TEST(Quote, OfWorkWithoutEndIsRefusedAndHasNoEarliestFinish) {
  Engine engine = World{}.engine("elasticflow");

  const Quote quote = engine.quote(at(0), due(1000, job(1, 1e300)));

  EXPECT_EQ(quote.verdict.kind, VerdictKind::Refuse);
  EXPECT_EQ(quote.earliest, kNever);
}

TEST(OfferKind, HasAWordForMachines) {
  EXPECT_EQ(to_string(OfferKind::LaterDeadline), "later_deadline");
  EXPECT_EQ(to_string(OfferKind::MoreGpus), "more_gpus");
  EXPECT_EQ(to_string(OfferKind::BestEffort), "best_effort");
}

class QuoteIn : public testing::TestWithParam<ResizeCostModel> {
 protected:
  [[nodiscard]] static World world(std::uint64_t seed) {
    return {.cluster = "4x4",
            .accounting = GetParam(),
            .slot_seconds = seed % 2 == 0 ? 10.0 : 1.0,
            .seed = seed};
  }
};

INSTANTIATE_TEST_SUITE_P(Engine, QuoteIn, testing::ValuesIn(kAccountings),
                         [](const auto& given) { return std::string(to_string(given.param)); });

TEST_P(QuoteIn, RandomStatesEqualsTheVerdictOfTheArrivalThatFollows) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Engine engine = world(seed).engine("elasticflow");
    RandomRun run(engine, seed);
    for (int i = 0; i < 100; ++i) {
      run.step();
      if (i % 3 != 0) {
        continue;
      }
      const Job wanted = run.draw_job();

      const Quote quote = engine.quote(run.now(), wanted);
      run.feed(Arrival{.job = wanted});

      const Verdict verdict = only<Answer>(run.last()).at(0).verdict;
      ASSERT_EQ(text_of(quote.verdict), text_of(verdict)) << "seed " << seed << " step " << i;
    }
  }
}

TEST_P(QuoteIn, RandomStatesChangesNothing) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Engine asked = world(seed).engine("elasticflow");
    Engine unasked = world(seed).engine("elasticflow");
    RandomRun first(asked, seed);
    RandomRun second(unasked, seed);
    for (int i = 0; i < 100; ++i) {
      Job odd = job(0, 10.0 * i);
      odd.batch = i % 7;  // Kinds that nobody asked about before.
      (void)asked.quote(first.now(), due(to_seconds(first.now()) + 5.0 * i, odd));
      first.step();
      second.step();
    }

    ASSERT_EQ(first.journal(), second.journal()) << "seed " << seed;
  }
}

TEST_P(QuoteIn, RandomStatesHasATightEarliestFinishAndOffersThatHold) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Engine engine = world(seed).engine("elasticflow");
    RandomRun run(engine, seed);
    for (int i = 0; i < 60; ++i) {
      run.step();
      Job wanted = run.draw_job();
      wanted.job_class = JobClass::Slo;
      wanted.deadline = later(run.now(), seconds(30));
      const Quote quote = engine.quote(run.now(), wanted);
      if (quote.earliest == kNever) {
        continue;
      }
      const auto kind_by = [&](Instant deadline) {
        Job other = wanted;
        other.deadline = deadline;
        return engine.quote(run.now(), other).verdict.kind;
      };
      const Duration grain = std::max(seconds(2), (quote.earliest - run.now()) / 500);

      EXPECT_EQ(kind_by(quote.earliest), VerdictKind::Admit) << "seed " << seed << " step " << i;
      EXPECT_EQ(kind_by(quote.earliest - grain), VerdictKind::Refuse)
          << "seed " << seed << " step " << i;
      const CounterOffer* later_deadline = offer(quote, OfferKind::LaterDeadline);
      EXPECT_EQ(later_deadline != nullptr, quote.verdict.kind == VerdictKind::Refuse);
      EXPECT_EQ(offer(quote, OfferKind::BestEffort) != nullptr,
                quote.verdict.kind == VerdictKind::Refuse);
    }
  }
}

}  // namespace
}  // namespace rubato
