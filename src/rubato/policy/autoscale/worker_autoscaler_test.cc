#include "rubato/policy/autoscale/worker_autoscaler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::autoscale {
namespace {

std::vector<int> ladder_to(int workers_max, int spawn = 1) {
  std::vector<int> ladder;
  for (int workers = spawn; workers <= workers_max; workers += spawn) {
    ladder.push_back(workers);
  }
  return ladder;
}

// Speeds rise in proportion up to the knee and hardly beyond it.
std::function<double(int)> knee_at(int knee) {
  return
      [knee](int workers) { return std::min(workers, knee) + 0.001 * std::max(0, workers - knee); };
}

struct Search {
  int settled = 0;
  int decisions = 0;
};

// Lets a job decide until it stays where it is, doing `steps` at each count.
Search settle(int start, const std::vector<int>& ladder, const std::function<double(int)>& speed,
              const StepPays& pays, double steps = 100) {
  std::vector<Visit> visits;
  int workers = start;
  for (int decisions = 1; decisions < 1000; ++decisions) {
    auto visit = std::ranges::find(visits, workers, &Visit::workers);
    if (visit == visits.end()) {
      visits.push_back({.workers = workers, .speed = speed(workers)});
      std::ranges::sort(visits, {}, &Visit::workers);
      visit = std::ranges::find(visits, workers, &Visit::workers);
    }
    visit->steps += steps;
    const int next = next_count(visits, ladder, pays);
    if (next == workers) {
      return {.settled = workers, .decisions = decisions};
    }
    workers = next;
  }
  return {};
}

TEST(WorkerAutoscaler, SettlesAtTheKneeFromEveryStart) {
  for (int start = 1; start <= 8; ++start) {
    const Search found = settle(start, ladder_to(8), knee_at(3), pays_by_efficiency(0.1));

    EXPECT_EQ(found.settled, 3) << "from " << start;
    EXPECT_LE(found.decisions, 2 * 8) << "from " << start;
  }
}

TEST(WorkerAutoscaler, MovesInUnitsOfTheLadder) {
  const Search found = settle(4, ladder_to(64, 4), knee_at(24), pays_by_efficiency(0.1));

  EXPECT_EQ(found.settled, 24);
  EXPECT_LE(found.decisions, 2 * 64 / 4);
}

TEST(WorkerAutoscaler, WeighsAFurtherWorkerAgainstTheAverageOne) {
  const StepPays pays = pays_by_efficiency(0.1);

  // 0.11 and 0.09 more for each further worker, when each of the first two makes 1.
  EXPECT_TRUE(pays({.workers = 2, .speed = 2}, {.workers = 4, .speed = 2.22}));
  EXPECT_FALSE(pays({.workers = 2, .speed = 2}, {.workers = 4, .speed = 2.18}));
}

TEST(WorkerAutoscaler, GrowsFirstAndShrinksOnlyAtTheTop) {
  const StepPays pays = pays_by_efficiency(0.1);
  const std::vector<Visit> middle = {{.workers = 2, .speed = 2}};
  const std::vector<Visit> top = {{.workers = 4, .speed = 2}};

  EXPECT_EQ(next_count(middle, ladder_to(4), pays), 3);
  EXPECT_EQ(next_count(top, ladder_to(4), pays), 3);
  EXPECT_EQ(next_count(top, std::vector<int>{4}, pays), 4);
}

TEST(WorkerAutoscaler, MeasuresEnoughBeforeItGivesUpACount) {
  const StepPays pays = pays_by_efficiency(0.1);
  std::vector<Visit> visits = {{.workers = 1, .speed = 1, .steps = 500},
                               {.workers = 2, .speed = 1.01, .steps = 99}};

  EXPECT_EQ(next_count(visits, ladder_to(4), pays), 2);
  visits[1].steps = 100;
  EXPECT_EQ(next_count(visits, ladder_to(4), pays), 1);
}

TEST(WorkerAutoscaler, StopsLookingDownAfterThreeStepsThatPay) {
  const StepPays pays = pays_by_efficiency(0.1);
  std::vector<Visit> visits;
  for (int workers = 5; workers <= 9; ++workers) {
    visits.push_back({.workers = workers, .speed = knee_at(8)(workers), .steps = 100});
  }

  // 5 to 8 pay, 9 does not.
  EXPECT_EQ(next_count(visits, ladder_to(9), pays), 8);
  EXPECT_EQ(next_count(std::span(visits).subspan(1), ladder_to(9), pays), 5);
}

Bill linear_bill(double decay, double price, double steps) {
  return {.value = {.kind = ValueKind::LinearAfterDeadline, .amount = 1e9, .decay = decay},
          .steps_left = steps,
          .price = price};
}

TEST(WorkerAutoscaler, FindsTheBestUtilityOnRandomConcaveCurves) {
  Random random(7);
  for (int i = 0; i < 3000; ++i) {
    const int workers_max = static_cast<int>(random.integer(2, 12));
    std::vector<double> speeds = {0};
    double gain = 1;
    for (int workers = 1; workers <= workers_max; ++workers) {
      speeds.push_back(speeds.back() + gain);
      gain *= random.uniform(0.3, 1);
    }
    const double price = random.uniform(0.01, 1);
    const auto speed = [&](int workers) { return speeds[static_cast<std::size_t>(workers)]; };

    const Search found =
        settle(static_cast<int>(random.integer(1, workers_max)), ladder_to(workers_max), speed,
               pays_by_utility(linear_bill(1, price, 100'000)));

    // By hand: one per second of latency, and the price of the workers.
    const auto loss = [&](int workers) { return (1 + price * workers) / speed(workers); };
    int best = 1;
    for (int workers = 2; workers <= workers_max; ++workers) {
      best = loss(workers) < loss(best) ? workers : best;
    }
    ASSERT_TRUE(found.settled == best || std::abs(loss(found.settled) - loss(best)) < 1e-9)
        << i << ": " << found.settled << " instead of " << best;
    ASSERT_LE(found.decisions, 2 * workers_max + 2) << i;
  }
}

TEST(WorkerAutoscaler, PaysNothingForWhatIsLateAnyway) {
  const Bill bill = {
      .value = {.kind = ValueKind::Steps, .steps = {{.within = from_seconds(10), .amount = 100}}},
      .elapsed = 5,
      .steps_left = 20,
      .price = 1};
  const StepPays pays = pays_by_utility(bill);

  // 20 s alone, 5 s with four: only the latter is in time.
  EXPECT_TRUE(pays({.workers = 1, .speed = 1}, {.workers = 4, .speed = 4}));
  EXPECT_FALSE(pays({.workers = 1, .speed = 1}, {.workers = 4, .speed = 3.5}));
}

}  // namespace
}  // namespace rubato::policy::autoscale
