#include "rubato/base/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace rubato {
namespace {

constexpr int kDraws = 200'000;

struct Moments {
  double mean = 0;
  double deviation = 0;
};

template <typename Draw>
Moments moments(Draw draw) {
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = draw();
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kDraws;
  return {.mean = mean, .deviation = std::sqrt(squares / kDraws - mean * mean)};
}

// The reference programs of Blackman and Vigna: splitmix64 from seed 0, then xoshiro256++.
TEST(Random, DrawsTheNumbersOfTheReferenceProgram) {
  Random random(0);

  EXPECT_EQ(random.next(), 0x53175d61490b23dfULL);
  EXPECT_EQ(random.next(), 0x61da6f3dc380d507ULL);
  EXPECT_EQ(random.next(), 0x5c0fdf91ec9a7bfcULL);
}

TEST(Random, MeansTheSameBytesForASeedForever) {
  Random random(42);

  EXPECT_EQ(random.next(), 15021278609987233951ULL);
  EXPECT_EQ(random.integer(1, 6), 6);
  EXPECT_EQ(random.uniform(), 0.9838941681774888);
  EXPECT_EQ(random.fork(3).next(), 18185009485441249073ULL);
}

TEST(Random, ForksStreamsThatDoNotDependOnEarlierDraws) {
  Random used(7);
  used.next();
  const Random fresh(7);

  EXPECT_EQ(used.fork(1).next(), fresh.fork(1).next());
  EXPECT_NE(fresh.fork(1).next(), fresh.fork(2).next());
  EXPECT_NE(fresh.fork(0).next(), Random(7).next());
}

TEST(Random, GoesOnWhereItsWordsWereTaken) {
  Random random(7);
  random.next();
  Random restored(random.words());

  EXPECT_EQ(restored.next(), random.next());
  EXPECT_EQ(restored.fork(1).next(), random.fork(1).next());
  EXPECT_EQ(restored.words(), random.words());
}

TEST(Random, StaysInsideItsBounds) {
  Random random(1);
  for (int i = 0; i < kDraws; ++i) {
    const double uniform = random.uniform();
    const std::int64_t integer = random.integer(-2, 2);

    ASSERT_TRUE(uniform >= 0 && uniform < 1);
    ASSERT_TRUE(integer >= -2 && integer <= 2);
  }
  EXPECT_EQ(random.integer(5, 5), 5);
}

TEST(Random, DrawsFromTheWholeRangeOfIntegers) {
  constexpr auto kLow = std::numeric_limits<std::int64_t>::min();
  constexpr auto kHigh = std::numeric_limits<std::int64_t>::max();
  Random random(2);
  int negative = 0;
  for (int i = 0; i < 1'000; ++i) {
    negative += random.integer(kLow, kHigh) < 0 ? 1 : 0;
  }

  EXPECT_NEAR(negative, 500, 80);
}

TEST(Random, DrawsIntegersEvenly) {
  Random random(3);
  std::array<int, 6> counts{};
  for (int i = 0; i < kDraws; ++i) {
    ++counts[static_cast<std::size_t>(random.integer(1, 6) - 1)];
  }

  double chi_square = 0;
  for (const int count : counts) {
    chi_square += std::pow(count - kDraws / 6.0, 2) / (kDraws / 6.0);
  }
  EXPECT_LT(chi_square, 20.5);  // 5 degrees of freedom: exceeded by chance once in 1,000.
}

TEST(Random, HasTheMomentsItsDistributionsPromise) {
  Random random(4);
  const Moments uniform = moments([&] { return random.uniform(2, 4); });
  const Moments exponential = moments([&] { return random.exponential(3); });
  const Moments normal = moments([&] { return random.normal(-1, 2); });
  const Moments lognormal = moments([&] { return random.lognormal(0, 0.5); });

  EXPECT_NEAR(uniform.mean, 3, 0.01);
  EXPECT_NEAR(uniform.deviation, std::sqrt(1.0 / 3), 0.01);
  EXPECT_NEAR(exponential.mean, 3, 0.04);
  EXPECT_NEAR(exponential.deviation, 3, 0.06);
  EXPECT_NEAR(normal.mean, -1, 0.02);
  EXPECT_NEAR(normal.deviation, 2, 0.02);
  EXPECT_NEAR(lognormal.mean, std::exp(0.125), 0.01);
}

TEST(Random, HasTheShapeOfANormalDistribution) {
  Random random(5);
  std::vector<double> draws(kDraws);
  std::ranges::generate(draws, [&] { return random.normal(0, 1); });
  std::ranges::sort(draws);

  double widest = 0;  // Kolmogorov-Smirnov distance from the normal distribution function.
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const double expected = 0.5 * std::erfc(-draws[i] / std::sqrt(2.0));
    widest = std::max(widest, std::abs(expected - (static_cast<double>(i) + 0.5) / kDraws));
  }
  EXPECT_LT(widest, 1.95 / std::sqrt(kDraws));  // Exceeded by chance once in 1,000.
}

TEST(Random, IsAsLikelyAsItIsTold) {
  Random random(6);

  EXPECT_NEAR(moments([&] { return random.chance(0.3) ? 1.0 : 0.0; }).mean, 0.3, 0.005);
  EXPECT_FALSE(random.chance(0));
  EXPECT_TRUE(random.chance(1));
}

TEST(Random, DrawsInProportionToWeights) {
  Random random(7);
  const std::array weights{0.0, 1.0, 3.0, 0.0};
  std::array<int, 4> counts{};
  for (int i = 0; i < kDraws; ++i) {
    ++counts[random.weighted(weights)];
  }

  EXPECT_EQ(counts[0], 0);
  EXPECT_NEAR(counts[1], kDraws / 4.0, 1'000);
  EXPECT_EQ(counts[3], 0);
}

}  // namespace
}  // namespace rubato
