#include "rubato/policy/gavel/time_fractions.h"

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/gavel/two_pool_oracle_test.h"

namespace rubato::policy::gavel {
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
  for (int trial = 0; trial < 2'000; ++trial) {
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

TEST(TimeFractions, GiveTheWorstOffExactlyWhatCanBeGivenToAll) {
  Random random(4);
  for (int trial = 0; trial < 3'000; ++trial) {
    std::vector<Claim> claims;
    for (int i = 0; i < random.integer(1, 5); ++i) {
      claims.push_back({.jobs = static_cast<int>(random.integer(1, 2)),
                        .gains = {random.uniform(0.1, 4), random.uniform(0.1, 4)},
                        .gpus = {static_cast<int>(random.integer(1, 3)),
                                 static_cast<int>(random.integer(1, 3))}});
    }
    const std::vector<int> capacity = {static_cast<int>(random.integer(3, 6)),
                                       static_cast<int>(random.integer(3, 6))};
    const auto all_can_have = [&](double worth) {
      std::vector<TwoPoolNeed> needs;
      for (const Claim& claim : claims) {
        needs.push_back(
            {.worth = worth,
             .gains = {claim.gains[0], claim.gains[1]},
             .gpus = {1.0 * claim.jobs * claim.gpus[0], 1.0 * claim.jobs * claim.gpus[1]}});
      }
      return can_serve(needs, capacity[0], capacity[1]);
    };

    const TimeFractions best = max_min_fractions(claims, capacity);

    ASSERT_TRUE(fits(claims, capacity, best)) << "trial " << trial;
    ASSERT_TRUE(all_can_have(best.least * (1 - 1e-6))) << "trial " << trial;
    ASSERT_FALSE(all_can_have(best.least * (1 + 1e-6))) << "trial " << trial;
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
}  // namespace rubato::policy::gavel
