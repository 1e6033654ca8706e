#include "rubato/policy/shockwave/window_plan.h"

#include <algorithm>
#include <bit>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::shockwave {
namespace {

// 10 epochs of 60 s, half of them done; 4 epochs of 120 s, none done.
const std::vector<WindowJob> kTwoJobs = {{.done = 0.5, .seconds_left = 300},
                                         {.done = 0, .seconds_left = 480}};

constexpr Window kTwoRounds{.rounds = 2, .round_seconds = 120, .gpus = 1, .k = 1e-3};

std::vector<WindowJob> random_window_jobs(Random& random, int count, int width_bits) {
  std::vector<WindowJob> jobs;
  for (int i = 0; i < count; ++i) {
    jobs.push_back(WindowJob{.gpus = 1 << random.integer(0, width_bits),
                             .done = random.uniform(0, 0.9),
                             .seconds_left = random.uniform(50, 900),
                             .weight = random.chance(0.3) ? 3.0 : 1.0});
  }
  return jobs;
}

// The paper's own form: every 0/1 choice of jobs and rounds under the GPUs of each round.
double best_by_enumeration(const std::vector<WindowJob>& jobs, const Window& window) {
  const int bits = static_cast<int>(jobs.size()) * window.rounds;
  double best = -1e300;
  for (std::uint32_t chosen = 0; chosen < (1U << bits); ++chosen) {
    std::vector<int> counts(jobs.size(), 0);
    std::vector<int> used(static_cast<std::size_t>(window.rounds), 0);
    for (int bit = 0; bit < bits; ++bit) {
      if ((chosen >> bit & 1U) != 0) {
        const auto job = static_cast<std::size_t>(bit / window.rounds);
        ++counts[job];
        used[static_cast<std::size_t>(bit % window.rounds)] += jobs[job].gpus;
      }
    }
    if (std::ranges::all_of(used, [&](int gpus) { return gpus <= window.gpus; })) {
      best = std::max(best, window_worth(jobs, window, counts));
    }
  }
  return best;
}

TEST(WindowPlan, WorthMatchesTheWorkedExample) {
  EXPECT_NEAR(window_worth(kTwoJobs, kTwoRounds, std::vector<int>{2, 0}), -3.96177, 1e-5);
  EXPECT_NEAR(window_worth(kTwoJobs, kTwoRounds, std::vector<int>{1, 1}), -0.81078, 1e-5);
  EXPECT_NEAR(window_worth(kTwoJobs, kTwoRounds, std::vector<int>{0, 2}), -0.65678, 1e-5);
}

TEST(WindowPlan, FindsTheBestOfTheWorkedExample) {
  EXPECT_EQ(best_counts(kTwoJobs, kTwoRounds), (std::vector<int>{0, 2}));
}

/// A few windows with four jobs and three rounds, and thousands with two of each.
struct RandomWindow {
  RandomWindow(Random& random, int trial, int width_bits)
      : jobs(random_window_jobs(random, trial < 20 ? 4 : 2, width_bits)),
        window({.rounds = trial < 20 ? 3 : 2,
                .round_seconds = trial < 20 ? 120.0 : 200.0,
                .gpus = 1 << width_bits,
                .k = trial % 2 * 1e-3}) {}

  std::vector<WindowJob> jobs;
  Window window;
};

constexpr int kWindows = 2'000;

TEST(WindowPlan, RowsAreTheBestChoiceOfRounds) {
  Random random(1);
  for (int trial = 0; trial < kWindows; ++trial) {
    const RandomWindow given(random, trial, trial < 20 ? 2 : 1);

    const auto rows = best_rows(given.jobs, given.window);

    ASSERT_TRUE(rows.has_value());
    std::vector<int> counts;
    std::vector<int> used(static_cast<std::size_t>(given.window.rounds), 0);
    for (std::size_t i = 0; i < given.jobs.size(); ++i) {
      counts.push_back(std::popcount((*rows)[i]));
      for (std::size_t round = 0; round < used.size(); ++round) {
        used[round] += ((*rows)[i] >> round & 1U) != 0 ? given.jobs[i].gpus : 0;
      }
    }
    ASSERT_TRUE(std::ranges::all_of(used, [&](int gpus) { return gpus <= given.window.gpus; }));
    ASSERT_NEAR(window_worth(given.jobs, given.window, counts),
                best_by_enumeration(given.jobs, given.window), 1e-6)
        << "trial " << trial;
  }
}

TEST(WindowPlan, CountsOfJobsOnOneGpuAreTheBestChoiceOfRounds) {
  Random random(1);
  for (int trial = 0; trial < kWindows; ++trial) {
    const RandomWindow given(random, trial, 0);

    const auto counts = best_counts(given.jobs, given.window);

    ASSERT_TRUE(counts.has_value());
    ASSERT_NEAR(window_worth(given.jobs, given.window, *counts),
                best_by_enumeration(given.jobs, given.window), 1e-6)
        << "trial " << trial;
  }
}

TEST(WindowPlan, WeightBuysRounds) {
  std::vector<WindowJob> jobs(4, WindowJob{.done = 0.2, .seconds_left = 1200});
  const Window window{.rounds = 8, .round_seconds = 120, .gpus = 1, .k = 0};
  jobs[2].weight = 10;

  const auto counts = best_counts(jobs, window);

  EXPECT_EQ(counts, (std::vector<int>{0, 0, 8, 0}));
}

TEST(WindowPlan, KeepsMinimaOrSaysThatTheyDoNotFit) {
  std::vector<WindowJob> jobs = kTwoJobs;
  jobs[0].rounds_min = 1;
  EXPECT_EQ(best_counts(jobs, kTwoRounds), (std::vector<int>{1, 1}));

  jobs[1].rounds_min = 2;
  EXPECT_EQ(best_counts(jobs, kTwoRounds), std::nullopt);
}

TEST(WindowPlan, SpreadsJobsOnOneGpuWithoutLoss) {
  Random random(2);
  for (int trial = 0; trial < 2'000; ++trial) {
    const std::vector<WindowJob> jobs = random_window_jobs(random, 6, 0);
    const Window window{.rounds = 10, .round_seconds = 60, .gpus = 3};
    const std::vector<int> counts = greedy_counts(jobs, window);

    const std::vector<std::uint64_t> rows = spread(jobs, window, counts);

    for (std::size_t i = 0; i < jobs.size(); ++i) {
      ASSERT_EQ(std::popcount(rows[i]), counts[i]) << "trial " << trial;
    }
    for (unsigned round = 0; round < 10; ++round) {
      int used = 0;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        used += (rows[i] >> round & 1U) != 0 ? jobs[i].gpus : 0;
      }
      ASSERT_LE(used, window.gpus);
    }
  }
}

TEST(WindowPlan, WhoComesFirstRunsFirst) {
  const std::vector<std::uint64_t> rows = spread(kTwoJobs, kTwoRounds, std::vector<int>{1, 1});

  EXPECT_EQ(rows[0], 1U);
  EXPECT_EQ(rows[1], 2U);
}

TEST(WindowPlan, FallsBackToGreedyCountsWhenTheLimitStrikes) {
  Random random(3);
  const std::vector<WindowJob> jobs = random_window_jobs(random, 30, 3);
  const Window window{.rounds = 20, .round_seconds = 60, .gpus = 8};

  const auto counts = best_counts(jobs, window, {.iterations_max = 1});

  EXPECT_EQ(counts, greedy_counts(jobs, window));
}

TEST(WindowPlan, GreedyCountsFitAndLeaveNoRoomForAnother) {
  Random random(4);
  for (int trial = 0; trial < 2'000; ++trial) {
    const std::vector<WindowJob> jobs = random_window_jobs(random, 8, 2);
    const Window window{.rounds = 5, .round_seconds = 120, .gpus = 4};
    const std::vector<int> counts = greedy_counts(jobs, window);
    int left = window.gpus * window.rounds;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      left -= counts[i] * jobs[i].gpus;
    }
    ASSERT_GE(left, 0);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const bool is_served = counts[i] * 120 >= jobs[i].seconds_left || counts[i] == 5;
      ASSERT_TRUE(is_served || jobs[i].gpus > left) << "trial " << trial;
    }
  }
}

}  // namespace
}  // namespace rubato::policy::shockwave
