#include "rubato/policy/time_fractions.h"

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

// The paper's normalisation of one job on one GPU: its speeds over what an equal share would give.
Claim normalised(const std::vector<double>& speeds, double jobs) {
  Claim claim;
  double equal = 0;
  for (const double speed : speeds) {
    equal += speed / jobs;
  }
  for (const double speed : speeds) {
    claim.gains.push_back(speed / equal);
    claim.gpus.push_back(1);
  }
  return claim;
}

bool fits(const std::vector<Claim>& claims, const std::vector<int>& capacity,
          const TimeFractions& fractions) {
  std::vector<double> used(capacity.size(), 0.0);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    double time = 0;
    for (std::size_t pool = 0; pool < capacity.size(); ++pool) {
      const double fraction = fractions.of_claim[i][pool];
      time += fraction;
      used[pool] += fraction * claims[i].jobs * claims[i].gpus[pool];
      if (fraction < 0) {
        return false;
      }
    }
    if (time > 1 + 1e-7) {
      return false;
    }
  }
  for (std::size_t pool = 0; pool < capacity.size(); ++pool) {
    if (used[pool] > capacity[pool] + 1e-6) {
      return false;
    }
  }
  return true;
}

TEST(TimeFractions, MatchTheThreeJobsOfTheGavelPaper) {
  const std::vector<Claim> claims = {normalised({4, 2, 1}, 3), normalised({3, 2, 1}, 3),
                                     normalised({2, 2, 1}, 3)};
  const std::vector<int> capacity = {1, 1, 1};

  const TimeFractions fractions = max_min_fractions(claims, capacity);

  EXPECT_NEAR(fractions.least, 51.0 / 47.0, 1e-7);
  EXPECT_TRUE(fits(claims, capacity, fractions));
}

TEST(TimeFractions, GiveEachJobItsBestPoolWhenBothWin) {
  const std::vector<Claim> claims = {{.gains = {3, 1}, .gpus = {1, 1}},
                                     {.gains = {1, 3}, .gpus = {1, 1}}};

  const TimeFractions fractions = max_min_fractions(claims, std::vector<int>{1, 1});

  EXPECT_NEAR(fractions.least, 3, 1e-7);
  EXPECT_NEAR(fractions.of_claim[0][0], 1, 1e-7);
  EXPECT_NEAR(fractions.of_claim[1][1], 1, 1e-7);
}

TEST(TimeFractions, NeverRunAJobMoreThanAllTheTime) {
  const std::vector<Claim> claims = {{.gains = {2}, .gpus = {1}},
                                     {.jobs = 2, .gains = {5}, .gpus = {2}}};

  const TimeFractions fractions = max_min_fractions(claims, std::vector<int>{64});

  EXPECT_NEAR(fractions.least, 2, 1e-12);
  EXPECT_NEAR(fractions.of_claim[0][0], 1, 1e-12);
}

TEST(TimeFractions, TheFormulaForOnePoolIsTheOptimumOfTheProgram) {
  Random random(3);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Claim> one_pool;
    std::vector<Claim> with_poor_pool;
    for (int i = 0; i < random.integer(1, 8); ++i) {
      const double gain = random.uniform(0.1, 5);
      const int gpus = static_cast<int>(random.integer(1, 8));
      const int jobs = static_cast<int>(random.integer(1, 3));
      one_pool.push_back({.jobs = jobs, .gains = {gain}, .gpus = {gpus}});
      with_poor_pool.push_back({.jobs = jobs, .gains = {gain, 1e-9}, .gpus = {gpus, 1}});
    }
    const int capacity = static_cast<int>(random.integer(8, 40));

    const TimeFractions formula = max_min_fractions(one_pool, std::vector<int>{capacity});
    const TimeFractions program = max_min_fractions(with_poor_pool, std::vector<int>{capacity, 9});

    ASSERT_NEAR(formula.least, program.least, 1e-6) << "trial " << trial;
    ASSERT_TRUE(fits(one_pool, {capacity}, formula)) << "trial " << trial;
  }
}

// Mixtures of a thousand random tries: none may beat the program by more than rounding.
TEST(TimeFractions, NoRandomSharingIsBetterForTheWorstOff) {
  Random random(4);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<Claim> claims;
    for (int i = 0; i < 4; ++i) {
      claims.push_back({.gains = {random.uniform(0.1, 4), random.uniform(0.1, 4)},
                        .gpus = {static_cast<int>(random.integer(1, 3)), 1}});
    }
    const std::vector<int> capacity = {3, 2};
    const TimeFractions best = max_min_fractions(claims, capacity);
    ASSERT_TRUE(fits(claims, capacity, best)) << "trial " << trial;

    for (int guess = 0; guess < 200; ++guess) {
      TimeFractions other;
      double least = 1e9;
      for (const Claim& claim : claims) {
        const double total = random.uniform();
        const double first = random.uniform(0, total);
        other.of_claim.push_back({first, total - first});
        least = std::min(least, claim.gains[0] * first + claim.gains[1] * (total - first));
      }
      EXPECT_TRUE(!fits(claims, capacity, other) || least <= best.least + 1e-6);
    }
  }
}

TEST(TimeFractions, FallBackToPoolByPoolWhenTheLimitStrikes) {
  std::vector<Claim> claims;
  for (int i = 0; i < 20; ++i) {
    claims.push_back({.gains = {1.0 + i, 3.0}, .gpus = {1, 2}});
  }
  const std::vector<int> capacity = {4, 6};

  const TimeFractions fractions = max_min_fractions(claims, capacity, {.iterations_max = 1});

  EXPECT_GT(fractions.least, 0);
  EXPECT_TRUE(fits(claims, capacity, fractions));
  EXPECT_LE(fractions.least, max_min_fractions(claims, capacity).least + 1e-9);
}

}  // namespace
}  // namespace rubato
