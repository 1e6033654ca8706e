#include "rubato/policy/elasticflow/progressive_filling.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/core/progress.h"
#include "rubato/policy/testing/timeline_test.h"

namespace rubato::policy::elasticflow {
namespace {

constexpr double kHand = 20e-6;  // Seconds that every plan keeps in hand for rounding.

ScalingCurve linear_up_to(int gpus) {
  std::vector<ScalingPoint> points;
  for (int workers = 1; workers <= gpus; workers *= 2) {
    points.push_back({.workers = workers, .speed = 1.0 * workers});
  }
  return ScalingCurve(std::move(points));
}

Job job_of(std::string_view model) {
  Job job;
  job.model = model;
  return job;
}

ResizeCost physical() { return {ResizeCostModel::Physical, 8, std::chrono::seconds{60}}; }

TEST(ProgressiveFilling, TakesTheLowestLevelThatSufficesAndEndsWhenTheWorkIsDone) {
  const ScalingCurve curve = linear_up_to(4);
  const FillRequest request{.curve = &curve, .work = 10, .deadline = at_seconds(6)};

  const auto plan = fill(request, Ledger(4));

  EXPECT_EQ(plan, plan_of({{0, 5 + kHand, 2}}));
}

TEST(ProgressiveFilling, GivesTheSpecifiedAnswerForAShortageAtFirst) {
  // Speeds 1, 1.5, 2 on 1, 2, 4 GPUs; one GPU free at first, then four; three units of work in two
  // of time. A unit is 1000 s here, and the work a step less, since time is kept in hand.
  const ScalingCurve curve(
      {{.workers = 1, .speed = 1}, {.workers = 2, .speed = 1.5}, {.workers = 4, .speed = 2}});
  Ledger ledger(4);
  ledger.reserve(at_seconds(0), at_seconds(1000), 3);
  const FillRequest request{.curve = &curve, .work = 2999, .deadline = at_seconds(2000)};

  const auto plan = fill(request, ledger);

  EXPECT_EQ(plan, plan_of({{0, 1000, 1}, {1000, 1999.5 + kHand, 4}}));
}

TEST(ProgressiveFilling, RaisesALatePlanAtTheLastMomentLessItsMargin) {
  // x at one GPU, then two: x + 2 (6000 - x) = 10000 + 2 * 20 s of margin.
  const ScalingCurve curve = linear_up_to(4);
  const FillRequest request{
      .curve = &curve, .work = 10'000, .deadline = at_seconds(6000), .shape = FillShape::Late};

  const auto plan = fill(request, Ledger(4));

  EXPECT_EQ(plan, plan_of({{0, 1960, 1}, {1960, 6000, 2}}));
}

TEST(ProgressiveFilling, StartsALatePlanLateIfItsLowestLevelSuffices) {
  const ScalingCurve curve = linear_up_to(4);
  const FillRequest request{
      .curve = &curve, .work = 1000, .deadline = at_seconds(6000), .shape = FillShape::Late};

  const auto plan = fill(request, Ledger(4));

  EXPECT_EQ(plan, plan_of({{4980, 6000, 1}}));
}

TEST(ProgressiveFilling, FallsBackToAnEarlyPlanWhereTheMarginDoesNotFit) {
  const ScalingCurve curve = linear_up_to(4);
  const FillRequest request{
      .curve = &curve, .work = 10, .deadline = at_seconds(6), .shape = FillShape::Late};

  const auto plan = fill(request, Ledger(4));

  EXPECT_EQ(plan, plan_of({{0, 5 + kHand, 2}}));
}

TEST(ProgressiveFilling, PlansThePauseOfAStartButNoneForAShareItHas) {
  const ScalingCurve curve = linear_up_to(4);
  const Job job = job_of("resnet50");
  const ResizeCost costs = physical();
  FillRequest request{
      .curve = &curve, .work = 10, .deadline = at_seconds(8), .job = &job, .costs = &costs};

  const auto starting = fill(request, Ledger(4));
  request.share = 2;
  const auto running = fill(request, Ledger(4));

  EXPECT_EQ(starting, plan_of({{0, 1.884 + 5 + kHand, 2}}));
  EXPECT_EQ(running, plan_of({{0, 5 + kHand, 2}}));
}

TEST(ProgressiveFilling, WaitsForAnEarlierPauseToEnd) {
  const ScalingCurve curve = linear_up_to(2);
  const FillRequest request{
      .curve = &curve, .work = 10, .deadline = at_seconds(9), .ready = at_seconds(3)};

  const auto plan = fill(request, Ledger(4));

  EXPECT_EQ(plan, plan_of({{0, 8 + kHand, 2}}));
}

TEST(ProgressiveFilling, StopsAtTheRoundsOfOthers) {
  const ScalingCurve curve = linear_up_to(2);
  artifact::PlannedStalls stalls;
  stalls.add(at_seconds(2), std::chrono::seconds{1});
  stalls.add(at_seconds(5.5), std::chrono::seconds{1});
  stalls.add(at_seconds(7.5), std::chrono::seconds{1});
  const FillRequest request{
      .curve = &curve, .work = 10, .deadline = at_seconds(9), .stalls = &stalls};

  const auto plan = fill(request, Ledger(4));

  EXPECT_EQ(plan, plan_of({{0, 7 + kHand, 2}}));
}

TEST(ProgressiveFilling, StopsAtARoundAtWhichOnlyTheLedgerChanges) {
  // The third GPU of 3 s on is of no use, so the job goes on as before: it must stop all the same.
  const ScalingCurve curve = linear_up_to(4);
  Ledger ledger(4);
  ledger.reserve(at_seconds(0), at_seconds(3), 2);
  ledger.reserve(at_seconds(3), at_seconds(9), 1);
  artifact::PlannedStalls stalls;
  stalls.add(at_seconds(3), std::chrono::seconds{1});
  const FillRequest request{
      .curve = &curve, .work = 10, .deadline = at_seconds(5.5), .stalls = &stalls};

  EXPECT_EQ(fill(request, ledger), std::nullopt);
}

TEST(ProgressiveFilling, KeepsTheReserveInHand) {
  const ScalingCurve curve = linear_up_to(2);
  FillRequest request{
      .curve = &curve, .work = 10, .deadline = at_seconds(8), .reserve = std::chrono::seconds{2}};

  const auto plan = fill(request, Ledger(4));
  request.deadline = at_seconds(7);

  EXPECT_EQ(plan, plan_of({{0, 7 + kHand, 2}}));
  EXPECT_EQ(fill(request, Ledger(4)), std::nullopt);
}

TEST(ProgressiveFilling, RunsAtTheSmallestLevelWithoutADeadline) {
  const ScalingCurve curve = linear_up_to(4);
  const FillRequest request{.curve = &curve, .work = 10};

  EXPECT_EQ(fill(request, Ledger(4)), plan_of({{0, 10 + kHand, 1}}));
}

TEST(ProgressiveFilling, CountsOnTheMeasuredSpeed) {
  const ScalingCurve curve = linear_up_to(4);
  const FillRequest request{
      .curve = &curve, .speed_factor = 0.5, .work = 10, .deadline = at_seconds(6)};

  EXPECT_EQ(fill(request, Ledger(4)), plan_of({{0, 5 + kHand, 4}}));
}

TEST(ProgressiveFilling, HasNoPlanForAPassedDeadline) {
  const ScalingCurve curve = linear_up_to(4);
  const FillRequest request{
      .curve = &curve, .work = 0, .start = at_seconds(7), .deadline = at_seconds(6)};

  EXPECT_EQ(fill(request, Ledger(4)), std::nullopt);
}

TEST(ProgressiveFilling, CarriesAPauseOnIntoTheNextSegment) {
  // Two pauses of 2.344 s, the first cut short after a second: progress from 4.688 s on.
  const ScalingCurve curve = linear_up_to(4);
  const Job job = job_of("gpt2");
  const ResizeCost costs = physical();
  const Plan plan = plan_of({{0, 1, 2}, {1, 10, 4}});
  FillRequest request{.curve = &curve, .work = 21.2, .share = 1, .job = &job, .costs = &costs};

  EXPECT_TRUE(completes(request, plan));
  request.work = 21.3;
  EXPECT_FALSE(completes(request, plan));
}

TEST(ProgressiveFilling, ReckonsThatAGapMayHaveLeftAJobWhatItHad) {
  // Kept at eight workers through the gap it shrinks in 3.101 s; stopped, it starts in 2.344 s. To
  // be safe the dearest shrink counts: 3.198 s.
  const ScalingCurve curve = linear_up_to(8);
  const Job job = job_of("gpt2");
  const ResizeCost costs = physical();
  const Plan plan = plan_of({{1, 10, 2}});
  FillRequest request{.curve = &curve, .work = 11.6, .share = 8, .job = &job, .costs = &costs};

  EXPECT_TRUE(completes(request, plan));
  request.work = 11.7;
  EXPECT_FALSE(completes(request, plan));
  request.share = 0;
  EXPECT_TRUE(completes(request, plan));
}

TEST(ProgressiveFilling, CountsTheReserveAtTheFastestSpeedOfThePlan) {
  const ScalingCurve curve = linear_up_to(4);
  const Plan plan = plan_of({{0, 5, 1}, {5, 10, 4}});
  FillRequest request{.curve = &curve, .work = 17, .reserve = std::chrono::seconds{2}};

  EXPECT_TRUE(completes(request, plan));
  request.work = 17.1;
  EXPECT_FALSE(completes(request, plan));
}

// --- Properties ------------------------------------------------------------------------------

/// A random job before a random ledger.
struct FillCase {
  ScalingCurve curve{};
  Ledger ledger{8};
  Job job{};
  FillRequest request{};
};

FillCase draw_case(std::uint64_t seed) {
  Random random(seed);
  FillCase drawn;
  std::vector<ScalingPoint> points;
  double speed = 0;
  for (int workers = 1; workers <= 8; workers *= 2) {
    speed += random.uniform(-0.2, 1.5) * workers;
    points.push_back({.workers = workers, .speed = std::max(speed, 0.1)});
  }
  drawn.curve = ScalingCurve(std::move(points));
  for (std::int64_t i = random.integer(0, 12); i > 0; --i) {
    const Instant from = at_seconds(random.uniform(0, 900));
    const Instant to = from + from_seconds(random.uniform(0.01, 400));
    const int room = drawn.ledger.min_free(from, to);
    drawn.ledger.reserve(from, to, static_cast<int>(random.integer(0, room)));
  }
  drawn.job.model = random.chance(0.5) ? "gpt2" : "bert";
  constexpr std::array kShares = {0, 1, 2, 4, 8};
  drawn.request = FillRequest{
      .speed_factor = random.chance(0.5) ? 1 : random.uniform(0.5, 1.5),
      .work = random.uniform(0, 3000),
      .start = at_seconds(random.uniform(0, 100)),
      .deadline = at_seconds(random.uniform(50, 1000)),
      .ready = at_seconds(random.uniform(0, 110)),
      .shape = random.chance(0.5) ? FillShape::Late : FillShape::Early,
      .share =
          drawn.curve.best_within(kShares[static_cast<std::size_t>(random.integer(0, 4))]).workers};
  return drawn;
}

// When the work is done if the job follows its plan, by the dead reckoning of the engine.
Instant replay(const FillCase& drawn, const FillRequest& request, const Plan& plan) {
  const auto speed = [&](int workers) { return drawn.curve.speed(workers) * request.speed_factor; };
  Progress progress{.speed = speed(request.share),
                    .since = request.start,
                    .paused_until = std::max(request.ready, request.start)};
  int workers = request.share;
  Instant end = request.start;
  for (const PlanSegment& segment : plan.segments) {
    if (segment.from > end) {
      progress.change(end, 0, Duration{});
      progress.paused_until = end;
      workers = 0;
    }
    if (segment.workers != workers) {
      const Duration pause =
          request.costs == nullptr
              ? Duration{}
              : request.costs->physical(drawn.job, {.from = workers, .to = segment.workers});
      progress.change(segment.from, speed(segment.workers), pause);
      workers = segment.workers;
    }
    if (progress.finish(request.work) <= segment.to) {
      return progress.finish(request.work);
    }
    end = segment.to;
  }
  return kNever;
}

TEST(ProgressiveFilling, EveryPlanFitsTheLedgerAndDoesTheWorkInTime) {
  const ResizeCost costs = physical();
  int found = 0;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    const FillCase drawn = draw_case(seed);
    FillRequest request = drawn.request;
    request.curve = &drawn.curve;
    request.job = &drawn.job;
    request.costs = seed % 2 == 0 ? &costs : nullptr;
    const auto plan = fill(request, drawn.ledger);
    if (!plan) {
      continue;
    }
    ++found;
    Ledger ledger = drawn.ledger;
    for (const PlanSegment& segment : plan->segments) {
      ASSERT_GE(ledger.min_free(segment.from, segment.to), segment.workers) << "seed " << seed;
      ledger.reserve(segment.from, segment.to, segment.workers);
      ASSERT_GE(segment.from, request.start) << "seed " << seed;
    }
    ASSERT_LE(plan->finish(), request.deadline) << "seed " << seed;
    ASSERT_LE(replay(drawn, request, *plan), plan->finish()) << "seed " << seed;
  }
  EXPECT_GT(found, 1000);
}

// Work that can be done with at most `level` workers at any moment, resizing being free.
double most_work(const FillCase& drawn, int level) {
  const FillRequest& request = drawn.request;
  double work = 0;
  drawn.ledger.for_each_run(std::max(request.start, request.ready), request.deadline, level,
                            [&](Instant from, Instant to, int free) {
                              work += drawn.curve.best_within(free).speed * request.speed_factor *
                                      to_seconds(to - from);
                              return true;
                            });
  return work;
}

TEST(ProgressiveFilling, TakesTheLowestPossibleLevelAndGivesUpOnlyIfNoneWillDo) {
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    const FillCase drawn = draw_case(seed);
    FillRequest request = drawn.request;
    request.curve = &drawn.curve;
    const auto plan = fill(request, drawn.ledger);
    int highest = 0;
    for (const PlanSegment& segment : plan ? plan->segments : std::vector<PlanSegment>{}) {
      highest = std::max(highest, segment.workers);
    }
    const ScalingPoint below = plan ? drawn.curve.next_below(highest) : drawn.curve.peak();
    const double hand = 2 * kHand * drawn.curve.peak().speed * request.speed_factor;
    if (below.workers > 0) {
      ASSERT_LT(most_work(drawn, below.workers), request.work + hand) << "seed " << seed;
    }
    refused += plan ? 0 : 1;
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace rubato::policy::elasticflow
