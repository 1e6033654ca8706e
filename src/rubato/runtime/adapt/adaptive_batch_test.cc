#include "rubato/runtime/adapt/adaptive_batch.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

const std::vector<float> kTwoHalves = {0.5F, 0.5F};

// Noise that is known exactly, after as many steps as it takes to be believed.
NoiseScale noise_with(std::uint64_t initial_batch, double squared, double trace, int steps = 20) {
  NoiseScale noise(initial_batch);
  const double sum_square = squared + trace / static_cast<double>(initial_batch);
  const double shard = squared + 2 * trace / static_cast<double>(initial_batch);
  for (int i = 0; i < steps; ++i) {
    noise.add(initial_batch, kTwoHalves,
              {.notes = {}, .shard_squares = {shard, shard}, .sum_square = sum_square});
  }
  return noise;
}

std::vector<BatchTime> times_of(const BatchCost& cost, const std::vector<std::uint64_t>& batches) {
  std::vector<BatchTime> times;
  for (const std::uint64_t batch : batches) {
    times.push_back(
        {.batch = batch, .seconds = cost.step_seconds(static_cast<double>(batch)), .steps = 50});
  }
  return times;
}

constexpr AdaptiveBatchOptions kOn{
    .is_enabled = true, .batch_min = 16, .batch_max = 4096, .multiple = 4, .growth_max = 1000};

TEST(BatchCost, IsTheLineThroughWhatWasMeasured) {
  const BatchCost truth{.constant_seconds = 0.02, .sample_seconds = 0.001};

  const BatchCost fitted = fit_batch_cost(times_of(truth, {32, 64, 256}));

  EXPECT_NEAR(fitted.constant_seconds, 0.02, 1e-12);
  EXPECT_NEAR(fitted.sample_seconds, 0.001, 1e-12);
}

TEST(BatchCost, HalvesTheTimeOfTheOnlyBatchSeen) {
  const std::vector<BatchTime> times = {{.batch = 50, .seconds = 0.1, .steps = 3}};

  EXPECT_DOUBLE_EQ(fit_batch_cost(times).constant_seconds, 0.05);
  EXPECT_DOUBLE_EQ(fit_batch_cost(times).sample_seconds, 0.001);
}

TEST(BatchCost, IsNeverNegative) {
  const std::vector<BatchTime> falling = {{.batch = 10, .seconds = 2, .steps = 1},
                                          {.batch = 20, .seconds = 1, .steps = 1}};
  const std::vector<BatchTime> steep = {{.batch = 10, .seconds = 1, .steps = 1},
                                        {.batch = 20, .seconds = 9, .steps = 1}};

  EXPECT_DOUBLE_EQ(fit_batch_cost(falling).sample_seconds, 0);
  EXPECT_DOUBLE_EQ(fit_batch_cost(falling).constant_seconds, 1.5);
  EXPECT_DOUBLE_EQ(fit_batch_cost(steep).constant_seconds, 0);
  EXPECT_DOUBLE_EQ(fit_batch_cost(steep).sample_seconds, 5.0 / 15);
}

TEST(AdaptiveBatch, GoesToThePeakOfGoodput) {
  // sqrt(a phi / b) = sqrt(0.08 * 800 / 0.001) = 253.0, between 252 and 256.
  const auto times = times_of({.constant_seconds = 0.08, .sample_seconds = 0.001}, {32, 64});

  const BatchProposal proposal = AdaptiveBatch(kOn).propose(32, 100, noise_with(32, 1, 800), times);

  EXPECT_TRUE(proposal.is_change);
  EXPECT_EQ(proposal.batch, 252U);
  EXPECT_GT(proposal.goodput_then, proposal.goodput_now * 1.05);
}

TEST(AdaptiveBatch, StaysUnlessAskedTo) {
  const auto times = times_of({.constant_seconds = 0.08, .sample_seconds = 0.001}, {32, 64});
  AdaptiveBatchOptions off = kOn;
  off.is_enabled = false;

  EXPECT_FALSE(AdaptiveBatch(off).propose(32, 100, noise_with(32, 1, 800), times).is_change);
}

TEST(AdaptiveBatch, WaitsForMeasurements) {
  const auto times = times_of({.constant_seconds = 0.08, .sample_seconds = 0.001}, {32, 64});
  const AdaptiveBatch batch(kOn);

  EXPECT_FALSE(batch.propose(32, 100, noise_with(32, 1, 800, 19), times).is_change);
  EXPECT_FALSE(batch.propose(32, 99, noise_with(32, 1, 800), times).is_change);
  EXPECT_FALSE(batch.propose(32, 100, noise_with(32, 1, 800), {}).is_change);
  EXPECT_TRUE(batch.propose(32, 100, noise_with(32, 1, 800), times).is_change);
}

TEST(AdaptiveBatch, DoesNotMoveForLessThanItCosts) {
  const auto times = times_of({.constant_seconds = 0.08, .sample_seconds = 0.001}, {32, 220});

  const BatchProposal proposal =
      AdaptiveBatch(kOn).propose(220, 1000, noise_with(32, 1, 800), times);

  EXPECT_FALSE(proposal.is_change);
  EXPECT_EQ(proposal.batch, 220U);
}

TEST(AdaptiveBatch, GrowsNoFurtherThanTwiceWhatWasTried) {
  const auto times = times_of({.constant_seconds = 0.08, .sample_seconds = 0.001}, {32, 50});
  AdaptiveBatchOptions options = kOn;
  options.growth_max = 2;

  EXPECT_EQ(AdaptiveBatch(options).propose(32, 100, noise_with(32, 1, 800), times).batch, 100U);
}

TEST(AdaptiveBatch, TakesTheLargestIfGradientsAreAllNoise) {
  const auto times = times_of({.constant_seconds = 0.08, .sample_seconds = 0.001}, {32, 64});

  EXPECT_EQ(AdaptiveBatch(kOn).propose(32, 100, noise_with(32, 0, 800), times).batch, 4096U);
}

TEST(AdaptiveBatch, StaysIfNoMultipleIsPermitted) {
  const auto times = times_of({.constant_seconds = 0.08, .sample_seconds = 0.001}, {32, 64});
  AdaptiveBatchOptions options = kOn;
  options.batch_min = 33;
  options.batch_max = 35;

  EXPECT_EQ(AdaptiveBatch(options).propose(32, 100, noise_with(32, 1, 800), times).batch, 32U);
}

RC_GTEST_PROP(AdaptiveBatch, FindsWhatTryingAllBatchesFinds, (std::uint64_t seed)) {
  Random random(seed);
  const BatchCost cost{.constant_seconds = random.lognormal(-4, 2),
                       .sample_seconds = random.lognormal(-7, 2)};
  const NoiseScale noise = noise_with(32, 1, random.lognormal(5, 2));
  AdaptiveBatchOptions options = kOn;
  options.multiple = static_cast<std::uint64_t>(random.integer(1, 9));
  options.batch_min = static_cast<std::uint64_t>(random.integer(1, 64));
  options.batch_max = options.batch_min + static_cast<std::uint64_t>(random.integer(50, 2000));
  options.gain_min = 1;

  const BatchProposal found =
      AdaptiveBatch(options).propose(32, 100, noise, times_of(cost, {32, 96}));

  const double scale = noise.scale();
  const auto rate = [&](double batch) {
    return batch / cost.step_seconds(batch) * (scale + 32) / (scale + batch);
  };
  double best = rate(32);  // It may also stay where it is.
  for (std::uint64_t batch = 1; batch <= options.batch_max; ++batch) {
    if (batch >= options.batch_min && batch % options.multiple == 0) {
      best = std::max(best, rate(static_cast<double>(batch)));
    }
  }
  RC_ASSERT(found.batch == 32 ||
            (found.batch % options.multiple == 0 && found.batch >= options.batch_min &&
             found.batch <= options.batch_max));
  RC_ASSERT(std::abs(rate(static_cast<double>(found.batch)) / best - 1) < 1e-6);
}

}  // namespace
}  // namespace rubato
