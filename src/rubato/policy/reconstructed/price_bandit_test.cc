#include "rubato/policy/reconstructed/price_bandit.h"

#include <cmath>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::reconstructed {
namespace {

const std::vector<double> kPrices = {1, 2, 3};

// The history of the specification.
PriceBandit with_history() {
  PriceBandit bandit(kPrices);
  bandit.restore(0, {.price = 1, .offers = 4, .rewards = 4, .sales = 4, .sum = 2.0});
  bandit.restore(1, {.price = 2, .offers = 4, .rewards = 4, .sales = 3, .sum = 2.6});
  bandit.restore(2, {.price = 3, .offers = 2, .rewards = 2, .sales = 1, .sum = 1.0});
  return bandit;
}

TEST(PriceBandit, HasTheIndicesOfTheSpecification) {
  PriceBandit bandit = with_history();
  EXPECT_NEAR(bandit.index(0), 1.57298, 5e-6);
  EXPECT_NEAR(bandit.index(1), 1.72298, 5e-6);
  EXPECT_NEAR(bandit.index(2), 2.01743, 5e-6);
  EXPECT_EQ(bandit.choose(), 2U);

  bandit.offered(2);
  bandit.learn(2, 0);

  EXPECT_NEAR(bandit.index(0), 1.5950, 5e-5);
  EXPECT_NEAR(bandit.index(1), 1.7450, 5e-5);
  EXPECT_NEAR(bandit.index(2), 1.5977, 5e-5);
  EXPECT_EQ(bandit.choose(), 1U);
}

TEST(PriceBandit, TriesEachPriceOnceLowestFirstThoughRewardsAreLate) {
  PriceBandit bandit(kPrices);
  for (std::size_t arm = 0; arm < 3; ++arm) {
    EXPECT_EQ(bandit.choose(), arm);
    bandit.offered(arm);
  }
  EXPECT_EQ(bandit.choose(), 0U);
  bandit.offered(0);
  EXPECT_EQ(bandit.choose(), 1U);
  bandit.learn(2, 0.1);  // The only one that is known anything about.
  EXPECT_EQ(bandit.choose(), 2U);
}

TEST(PriceBandit, TakesTheLowerOfTwoEqualPrices) {
  PriceBandit bandit(kPrices);
  for (std::size_t arm = 0; arm < 3; ++arm) {
    bandit.offered(arm);
    bandit.learn(arm, 0.5);
  }
  EXPECT_EQ(bandit.choose(), 0U);
}

TEST(PriceBandit, SellsScarceGoodsDearly) {
  const PriceBandit bandit = with_history();
  const double log = std::log(100.0);
  // 3 of 4 sold at the second price.
  const double radius = log / 5 + std::sqrt(log * 0.75 / 5);

  EXPECT_NEAR(bandit.limited_index(1, {.left = 1000, .buyers = 100}), 2 * 100 * (0.75 + radius),
              1e-9);
  EXPECT_NEAR(bandit.limited_index(1, {.left = 5, .buyers = 100}), 10, 1e-9);
  EXPECT_EQ(bandit.choose(LimitedSupply{.left = 5, .buyers = 100}), 2U);
}

TEST(PriceBandit, GridIsGeometric) {
  const std::vector<double> prices = price_grid(1, 16, 5);

  ASSERT_EQ(prices.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(prices[i], std::exp2(i), 1e-9);
  }
  EXPECT_EQ(price_grid(2, 8, 1), std::vector<double>{8});
}

// Buyers with values spread over [0, 1] pay a price p with probability 1 - p, so 0.5 is best.
TEST(PriceBandit, FindsTheBestPriceInTime) {
  const std::vector<double> prices = {0.1, 0.3, 0.5, 0.7, 0.9};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    PriceBandit bandit(prices);
    double earned = 0;
    constexpr int kBuyers = 5000;
    for (int i = 0; i < kBuyers; ++i) {
      const std::size_t arm = bandit.choose();
      bandit.offered(arm);
      const bool sold = random.uniform() >= prices[arm];
      bandit.learn(arm, sold ? prices[arm] : 0);
      earned += sold ? prices[arm] : 0;
    }

    EXPECT_GT(earned / kBuyers, 0.2) << "seed " << seed;  // 0.25 is best, 0.17 is uniform.
    EXPECT_GT(bandit.arms()[2].offers, bandit.arms()[0].offers) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::policy::reconstructed
