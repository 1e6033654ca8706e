#include "rubato/runtime/adapt/noise_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rubato/base/random.h"
#include "rubato/runtime/data/batch_split.h"

namespace rubato {
namespace {

ReduceReport report_of(std::vector<double> shard_squares, double sum_square) {
  return {.notes = {}, .shard_squares = std::move(shard_squares), .sum_square = sum_square};
}

const std::vector<float> kHalves = {0.5F, 0.5F};

// Two shards of 16 samples: (3, 0) and (1, 0), mean (2, 0).
NoiseScale measured_once() {
  NoiseScale noise(32);
  EXPECT_TRUE(noise.add(32, kHalves, report_of({9, 1}, 4)));
  return noise;
}

TEST(NoiseScale, MatchesAdaptDlForEvenShards) {
  // count = 2, L = 5, S = 4: G = (2 * 4 - 5) / 1 = 3, V = (5 - 4) * scale / 1 = 1 at scale 1.
  const auto sample = noise_sample(32, kHalves, report_of({9, 1}, 4));

  ASSERT_TRUE(sample.has_value());
  EXPECT_DOUBLE_EQ(sample->squared, 3);
  EXPECT_DOUBLE_EQ(sample->trace, 32);
}

TEST(NoiseScale, GivesGainAndEfficiencyOfOtherBatches) {
  const NoiseScale noise = measured_once();

  EXPECT_DOUBLE_EQ(noise.scale(), 32.0 / 3);
  EXPECT_DOUBLE_EQ(noise.gain(32), 1);
  // (V + G) / (V / 2 + G) with V = 1 and G = 3, and (phi + M0) / (phi + M).
  EXPECT_DOUBLE_EQ(noise.gain(64), 4 / 3.5);
  EXPECT_NEAR(noise.efficiency(64), (32.0 / 3 + 32) / (32.0 / 3 + 64), 1e-12);
}

TEST(NoiseScale, ScalesTheLearningRateByEachRule) {
  const NoiseScale noise = measured_once();

  EXPECT_DOUBLE_EQ(noise.rate_factor(RateRule::Unchanged, 64), 1);
  EXPECT_DOUBLE_EQ(noise.rate_factor(RateRule::AdaScale, 64), 4 / 3.5);
  EXPECT_DOUBLE_EQ(noise.rate_factor(RateRule::AdamScale, 64), std::sqrt(4 / 3.5));
  EXPECT_DOUBLE_EQ(noise.rate_factor(RateRule::Linear, 64), 2);
  EXPECT_DOUBLE_EQ(noise.rate_factor(RateRule::SquareRoot, 64), std::sqrt(2));
}

TEST(NoiseScale, LeavesTheLearningRateWhileNothingIsMeasured) {
  const NoiseScale noise(32);

  EXPECT_FALSE(noise.is_measured());
  EXPECT_EQ(noise.rate_factor(RateRule::AdaScale, 64), 1);
}

TEST(NoiseScale, AveragesWithoutAPullTowardsZero) {
  NoiseScale noise(32, 0.9);
  ASSERT_TRUE(noise.add(32, kHalves, report_of({9, 1}, 4)));  // G = 3, tr = 32.
  // A batch twice as large forgets twice as much: 0.9^2 is kept. G = 6, tr = 64 * 2 = 128.
  ASSERT_TRUE(noise.add(64, kHalves, report_of({18, 2}, 8)));

  const double first = 0.81 * 0.1;
  const double second = 0.19;
  EXPECT_NEAR(noise.squared(), (first * 3 + second * 6) / (first + second), 1e-12);
  EXPECT_NEAR(noise.trace(), (first * 32 + second * 128) / (first + second), 1e-12);
}

TEST(NoiseScale, MeasuresNothingInASingleShard) {
  const std::vector<float> one_of_three = {0, 1, 0};
  NoiseScale noise(32);

  EXPECT_FALSE(noise.add(32, one_of_three, report_of({7, 4, 7}, 4)));
  EXPECT_FALSE(noise.is_measured());
}

TEST(NoiseScale, SkipsStepsThatOverflowed) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  NoiseScale noise = measured_once();

  EXPECT_FALSE(noise.add(32, kHalves, report_of({kInfinite, 1}, 4)));
  EXPECT_FALSE(noise.add(32, kHalves, report_of({9, 1}, kNan)));
  EXPECT_EQ(noise.steps(), 1U);
}

TEST(NoiseScale, HoldsUnlikelyEstimatesAtTheirFloors) {
  NoiseScale no_signal(10);
  ASSERT_TRUE(no_signal.add(10, kHalves, report_of({1, 1}, 0)));
  NoiseScale no_noise(10);
  ASSERT_TRUE(no_noise.add(10, kHalves, report_of({1, 1}, 1)));

  EXPECT_EQ(no_signal.squared(), 0);
  EXPECT_TRUE(std::isinf(no_signal.scale()));
  EXPECT_DOUBLE_EQ(no_signal.gain(40), 4);  // All noise: a batch is worth its size.
  EXPECT_DOUBLE_EQ(no_noise.trace(), 1e-5);
  EXPECT_NEAR(no_noise.gain(1e9), 1, 1e-5);  // No noise: a step is a step.
}

TEST(NoiseScale, ForgetsWhenReset) {
  NoiseScale noise = measured_once();

  noise.reset();

  EXPECT_FALSE(noise.is_measured());
}

// A quadratic loss whose samples differ by Gaussian noise: the gradient and its covariance are
// known, and a shard's mean gradient can be drawn at once.
struct NoisyQuadratic {
  std::vector<double> gradient{};
  double deviation = 1;

  [[nodiscard]] double squared() const {
    double sum = 0;
    for (const double entry : gradient) {
      sum += entry * entry;
    }
    return sum;
  }
  [[nodiscard]] double trace() const {
    return static_cast<double>(gradient.size()) * deviation * deviation;
  }
  [[nodiscard]] ReduceReport step(const StepSplit& split, Random& random) const {
    ReduceReport report;
    std::vector<double> sum(gradient.size());
    for (std::size_t shard = 0; shard < split.shards().size(); ++shard) {
      const auto samples = static_cast<double>(split.shards()[shard].samples());
      double square = 0;
      for (std::size_t i = 0; i < gradient.size() && samples > 0; ++i) {
        const double entry = random.normal(gradient[i], deviation / std::sqrt(samples));
        square += entry * entry;
        sum[i] += static_cast<double>(split.weights()[shard]) * entry;
      }
      // An empty shard's slot may hold anything.
      report.shard_squares.push_back(samples > 0 ? square : 1e9);
    }
    for (const double entry : sum) {
      report.sum_square += entry * entry;
    }
    return report;
  }
};

RC_GTEST_PROP(NoiseScale, RecoversTheNoiseOfAQuadraticFromUnevenShards, (std::uint64_t seed)) {
  Random random(seed);
  NoisyQuadratic loss{.deviation = random.uniform(0.5, 2)};
  constexpr int kEntries = 10;
  for (int i = 0; i < kEntries; ++i) {
    loss.gradient.push_back(random.normal(0, 1));
  }
  const auto batch = static_cast<std::uint64_t>(random.integer(30, 200));
  const int ranks = static_cast<int>(random.integer(2, 6));
  std::vector<double> speeds(static_cast<std::size_t>(ranks));
  for (double& speed : speeds) {
    speed = random.uniform(0.05, 1);
  }
  StepSplit split;
  split.split({.epoch = 0, .begin = 0, .end = batch}, {.ranks = ranks, .speeds = speeds});

  constexpr int kSteps = 1000;
  double squared = 0;
  double trace = 0;
  for (int i = 0; i < kSteps; ++i) {
    const auto sample = noise_sample(batch, split.weights(), loss.step(split, random));
    RC_ASSERT(sample.has_value());
    squared += sample->squared / kSteps;
    trace += sample->trace / kSteps;
  }

  // The trace's deviation is its mean times sqrt(2 / (entries (n - 1) steps)).
  RC_ASSERT(std::abs(trace / loss.trace() - 1) < 5 * std::sqrt(2.0 / (kEntries * kSteps)));
  // The square's comes from the product of gradient and noise, and from the noise alone.
  const double variance = loss.deviation * loss.deviation / static_cast<double>(batch);
  const double deviation =
      std::sqrt((4 * loss.squared() * variance + 4 * kEntries * variance * variance) / kSteps);
  RC_ASSERT(std::abs(squared - loss.squared()) < 5 * deviation);
}

TEST(NoiseScale, GoesOnWhereAnotherOneIs) {
  const std::vector<float> weights{0.5F, 0.5F};
  const ReduceReport first{.shard_squares = {2, 3}, .sum_square = 1};
  const ReduceReport second{.shard_squares = {4, 3}, .sum_square = 2};
  NoiseScale old(8);
  ASSERT_TRUE(old.add(8, weights, first));

  NoiseScale newcomer(8);
  newcomer.resume(old.totals());
  ASSERT_TRUE(old.add(16, weights, second));
  ASSERT_TRUE(newcomer.add(16, weights, second));

  EXPECT_EQ(newcomer.totals(), old.totals());
  EXPECT_EQ(newcomer.gain(32), old.gain(32));
}

}  // namespace
}  // namespace rubato
