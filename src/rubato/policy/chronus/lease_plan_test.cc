#include "rubato/policy/chronus/lease_plan.h"

#include <algorithm>
#include <bit>
#include <functional>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::chronus {
namespace {

constexpr int kGpus = 8;

LeaseJob strict(int gpus, int need, int end) {
  return {.gpus = gpus, .need = need, .options = {{.end = end, .value = 10}}};
}

std::vector<int> use_of(const std::vector<LeaseJob>& jobs, const std::vector<Leases>& leases,
                        std::size_t horizon) {
  std::vector<int> used(horizon, 0);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    take(leases[i], -jobs[i].gpus, used);
  }
  return used;
}

// The objective of the best plan, or -1 if there is none.
double best(const std::vector<LeaseJob>& jobs, NextLease next, std::size_t horizon = 4) {
  const auto leases = best_leases(jobs, std::vector<int>(horizon, kGpus), kGpus, next);
  return leases ? lease_worth(jobs, *leases, kGpus, next) : -1;
}

// All choices of leases tried; -1 if none keeps the deadlines.
double best_by_enumeration(const std::vector<LeaseJob>& jobs, NextLease next, int horizon) {
  double most = -1;
  std::vector<Leases> chosen(jobs.size());
  std::vector<int> free(static_cast<std::size_t>(horizon), kGpus);
  const std::function<void(std::size_t)> choose = [&](std::size_t job) {
    if (job == jobs.size()) {
      most = std::max(most, lease_worth(jobs, chosen, kGpus, next));
      return;
    }
    for (unsigned set = 0; set < (1U << horizon); ++set) {
      Leases leases;
      bool fits = std::popcount(set) == jobs[job].need;
      for (int lease = 0; lease < horizon && fits; ++lease) {
        if ((set >> lease & 1U) != 0) {
          leases.push_back(lease);
          fits = lease >= jobs[job].first && lease < jobs[job].options.back().end &&
                 free[static_cast<std::size_t>(lease)] >= jobs[job].gpus;
        }
      }
      if (fits) {
        take(leases, jobs[job].gpus, free);
        chosen[job] = leases;
        choose(job + 1);
        take(leases, -jobs[job].gpus, free);
      }
    }
  };
  choose(0);
  return most;
}

std::vector<LeaseJob> random_lease_jobs(Random& random, int horizon) {
  std::vector<LeaseJob> jobs;
  for (int i = 0; i < random.integer(1, 4); ++i) {
    LeaseJob job{.gpus = 1 << random.integer(0, 3),
                 .need = static_cast<int>(random.integer(1, 2)),
                 .first = random.chance(0.2) ? 1 : 0};
    double value = 10;
    for (int end = static_cast<int>(random.integer(1, horizon)); end <= horizon;
         end += static_cast<int>(random.integer(1, 2))) {
      job.options.push_back({.end = end, .value = value});
      value -= static_cast<double>(random.integer(1, 3));
    }
    jobs.push_back(job);
  }
  return jobs;
}

TEST(LeasePlan, DelaysASoftJobForAStrictOne) {
  const std::vector<LeaseJob> jobs = {strict(8, 2, 2),
                                      {.gpus = 4, .need = 2, .options = {{2, 10}, {3, 8}, {4, 5}}}};

  const auto leases = best_leases(jobs, std::vector<int>(4, kGpus), kGpus, NextLease::Spare);

  ASSERT_TRUE(leases.has_value());
  EXPECT_EQ((*leases)[0], (Leases{0, 1}));
  EXPECT_EQ((*leases)[1], (Leases{2, 3}));
  EXPECT_NEAR(lease_worth(jobs, *leases, kGpus, NextLease::Spare), 14, 1e-9);
}

TEST(LeasePlan, SparesOrUsesTheNextLease) {
  const std::vector<LeaseJob> jobs = {
      strict(4, 1, 2), strict(8, 1, 3), {.gpus = 4, .need = 1, .options = {{2, 10}, {3, 8}}}};

  const auto spared = best_leases(jobs, std::vector<int>(4, kGpus), kGpus, NextLease::Spare);
  const auto used = best_leases(jobs, std::vector<int>(4, kGpus), kGpus, NextLease::Use);

  ASSERT_TRUE(spared && used);
  EXPECT_EQ(use_of(jobs, *spared, 4), (std::vector<int>{0, 8, 8, 0}));
  EXPECT_NEAR(lease_worth(jobs, *spared, kGpus, NextLease::Spare), 30, 1e-9);
  EXPECT_EQ(use_of(jobs, *used, 4).front(), 8);
  EXPECT_NEAR(lease_worth(jobs, *used, kGpus, NextLease::Use), 31, 1e-9);
}

TEST(LeasePlan, AdmitsAFourthJobButNotAFifth) {
  std::vector<LeaseJob> jobs = {
      strict(4, 1, 2), strict(8, 1, 3), {.gpus = 4, .need = 1, .options = {{2, 10}, {3, 8}}}};

  jobs.push_back(strict(8, 1, 2));
  EXPECT_TRUE(latest_fit(jobs, std::vector<int>(4, kGpus)).unfit.empty());
  EXPECT_NEAR(best(jobs, NextLease::Spare), 39, 1e-9);

  jobs.push_back(strict(4, 1, 2));
  EXPECT_EQ(latest_fit(jobs, std::vector<int>(4, kGpus)).unfit.size(), 1U);
  EXPECT_EQ(best(jobs, NextLease::Spare), -1);
}

TEST(LeasePlan, EstimatesWithMarginAndOverhead) {
  EXPECT_EQ(estimated_minutes(60, 4, 20), 70);
  EXPECT_EQ(estimated_minutes(18, 1, 20), 20);
}

TEST(LeasePlan, RoundsAwkwardWidthsUp) {
  const std::vector<int> rounded = {1, 2, 4, 4, 8, 8, 8, 8, 9};
  for (int gpus = 1; gpus <= 9; ++gpus) {
    EXPECT_EQ(rounded_gpus(gpus), rounded[static_cast<std::size_t>(gpus - 1)]) << gpus;
  }
}

TEST(LeasePlan, LatestLeasesSkipWhatIsFullAndKeepTheFirst) {
  const LeaseJob job{.gpus = 4, .need = 2, .first = 1, .options = {{.end = 5, .value = 1}}};

  EXPECT_EQ(latest_leases(job, std::vector<int>{8, 8, 4, 3, 4, 8}), (Leases{2, 4}));
  EXPECT_EQ(latest_leases(job, std::vector<int>{8, 3, 3, 3, 4, 8}), std::nullopt);
  EXPECT_EQ(latest_leases(job, std::vector<int>{8, 8, 8}), (Leases{1, 2}));
}

TEST(LeasePlan, MatchesEnumeration) {
  Random random(5);
  int attained = 0;
  for (int trial = 0; trial < 150; ++trial) {
    const std::vector<LeaseJob> jobs = random_lease_jobs(random, 4);
    const NextLease next = trial % 2 == 0 ? NextLease::Spare : NextLease::Use;

    const double found = best(jobs, next);
    const double expected = best_by_enumeration(jobs, next, 4);

    ASSERT_NEAR(found, expected, 1e-6) << "trial " << trial;
    const double bound = lease_worth_bound(jobs, std::vector<int>(4, kGpus), kGpus, next);
    ASSERT_GE(bound, expected - 1e-9) << "trial " << trial;
    attained += bound < expected + 1e-9 ? 1 : 0;
    // The latest fit is no optimum, but what it finds is a plan.
    const LatestFit fit = latest_fit(jobs, std::vector<int>(4, kGpus));
    if (fit.unfit.empty()) {
      ASSERT_GE(expected, lease_worth(jobs, fit.leases, kGpus, next) - 1e-9);
      const std::vector<int> used = use_of(jobs, fit.leases, 4);
      ASSERT_LE(*std::ranges::max_element(used), kGpus);
    }
  }
  // A bound that is seldom reached would save no program.
  EXPECT_GT(attained, 75);
}

TEST(LeasePlan, TheBoundKnowsWhoMustUseTheNextLease) {
  const std::vector<int> free(4, kGpus);
  const std::vector<LeaseJob> urgent = {strict(4, 2, 2), strict(2, 1, 4)};
  const std::vector<LeaseJob> crowded = {strict(8, 1, 2), strict(8, 1, 2), strict(4, 1, 3)};
  const std::vector<LeaseJob> odd = {strict(3, 1, 4), strict(3, 1, 4), strict(6, 1, 4)};

  EXPECT_NEAR(lease_worth_bound(urgent, free, kGpus, NextLease::Spare), 19.5, 1e-9);
  EXPECT_NEAR(lease_worth_bound(crowded, free, kGpus, NextLease::Spare), 29, 1e-9);
  EXPECT_NEAR(lease_worth_bound(odd, free, kGpus, NextLease::Use), 30.75, 1e-9);
}

TEST(LeasePlan, SaysNothingWhenTheLimitStrikes) {
  std::vector<LeaseJob> jobs(12, strict(3, 5, 12));

  EXPECT_EQ(
      best_leases(jobs, std::vector<int>(12, kGpus), kGpus, NextLease::Use, {.iterations_max = 1}),
      std::nullopt);
}

}  // namespace
}  // namespace rubato::policy::chronus
