#include "rubato/predict/goodput.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

/// 1 s a pass and 10 ms a sample; 0.5 s to exchange in a node, 2 s across nodes.
ThroughputModel simple(double gamma = 1) {
  return {.pass_constant = 1,
          .pass_per_sample = 0.01,
          .node_constant = 0.5,
          .node_per_worker = 0.1,
          .wide_constant = 2,
          .wide_per_worker = 0.25,
          .gamma = gamma};
}

// A model, noise and limits of any sensible size.
struct Drawn {
  ThroughputModel model{};
  GradientNoise noise{};
  BatchLimits limits{};
  int nodes = 1;
  int workers = 1;
};

Drawn draw(Random& random) {
  const auto small = [&] { return std::pow(10, random.uniform(-4, 0)); };
  Drawn drawn{.model = {.pass_constant = small(),
                        .pass_per_sample = small() / 10,
                        .node_constant = small(),
                        .node_per_worker = small() / 10,
                        .wide_constant = small(),
                        .wide_per_worker = small() / 10,
                        .gamma = random.uniform(1, 10)},
              .noise = {.squared = small(), .variance = 100 * small()}};
  drawn.limits.initial = static_cast<int>(random.integer(1, 256));
  drawn.limits.max = drawn.limits.initial * static_cast<int>(random.integer(1, 64));
  drawn.limits.local_min = static_cast<int>(random.integer(1, 16));
  drawn.limits.local_max = drawn.limits.local_min + static_cast<int>(random.integer(0, 256));
  drawn.workers = static_cast<int>(random.integer(1, 64));
  drawn.nodes = static_cast<int>(random.integer(1, std::min(drawn.workers, 16)));
  return drawn;
}

// Throughput times efficiency as the paper writes it, for a batch per worker.
double paper_goodput(const Drawn& world, int local, int accumulation) {
  const double grad = world.model.pass_constant + world.model.pass_per_sample * local;
  double sync = 1e-12;
  if (world.workers > 1) {
    sync = world.nodes == 1
               ? world.model.node_constant + world.model.node_per_worker * (world.workers - 2)
               : world.model.wide_constant + world.model.wide_per_worker * (world.workers - 2);
  }
  const double gamma = world.model.gamma;
  const double optim = std::exp(std::log(std::pow(grad, gamma) + std::pow(sync, gamma)) / gamma);
  const double batch = static_cast<double>(world.workers) * local * (accumulation + 1);
  const double throughput = batch / (accumulation * grad + optim);
  const double phi = world.limits.initial * world.noise.variance / world.noise.squared;
  return throughput * (phi + world.limits.initial) / (phi + batch);
}

struct BruteForce {
  double rate = 0;
  int tried = 0;
};

BruteForce brute_force(const Drawn& world) {
  BruteForce best;
  const double low = std::max(world.limits.initial, world.limits.local_min * world.workers);
  const double high = world.limits.max;
  for (int i = 0; i < 50 && low <= high; ++i) {
    const double batch = low * std::pow(high / low, i / 49.0);
    const double local = batch / world.workers;
    int accumulation = static_cast<int>(std::ceil(local / world.limits.local_max - 1e-8)) - 1;
    if (world.workers == 1 && local > world.limits.initial + 1e-8) {
      accumulation = std::max(accumulation, 1);
    }
    const int atomic = static_cast<int>(std::ceil(local / (accumulation + 1) - 1e-8));
    if (atomic >= world.limits.local_min && atomic <= world.limits.local_max) {
      best.rate = std::max(best.rate, paper_goodput(world, atomic, accumulation));
      ++best.tried;
    }
  }
  return best;
}

TEST(ThroughputModel, ExchangesNothingWithOneWorker) {
  EXPECT_EQ(simple().exchange_seconds(1, 1), 0);
  EXPECT_DOUBLE_EQ(simple().step_seconds(1, 1, {.local = 100}), 2);
  EXPECT_DOUBLE_EQ(simple(7).step_seconds(1, 1, {.local = 100}), 2);
}

TEST(ThroughputModel, ExchangesAtACostForEachWorkerBeyondTwo) {
  EXPECT_DOUBLE_EQ(simple().exchange_seconds(1, 2), 0.5);
  EXPECT_DOUBLE_EQ(simple().exchange_seconds(1, 4), 0.7);
  EXPECT_DOUBLE_EQ(simple().exchange_seconds(2, 2), 2);
  EXPECT_DOUBLE_EQ(simple().exchange_seconds(2, 6), 3);
}

TEST(ThroughputModel, OverlapsPassAndExchangeByGamma) {
  // A pass of 4 s and an exchange of 3 s.
  const ThroughputModel model{.pass_constant = 4, .node_constant = 3, .gamma = 2};
  ThroughputModel apart = model;
  apart.gamma = 1;

  EXPECT_DOUBLE_EQ(model.step_seconds(1, 2, {.local = 8}), 5);
  EXPECT_DOUBLE_EQ(apart.step_seconds(1, 2, {.local = 8}), 7);
  EXPECT_DOUBLE_EQ(model.step_seconds(1, 2, {.local = 8, .accumulation = 3}), 5 + 3 * 4);
}

TEST(GradientNoise, MakesAStepWorthWhatThePaperSays) {
  // phi = 100 * 3 / 1: four times the batch is worth (300 + 100) / (300 + 400) * 4 steps.
  const GradientNoise noise{.squared = 1, .variance = 3};

  EXPECT_DOUBLE_EQ(noise.gain(1), 1);
  EXPECT_DOUBLE_EQ(noise.gain(4), 4 * 400.0 / 700.0);
  EXPECT_DOUBLE_EQ((GradientNoise{.squared = 1}.gain(9)), 1);
  EXPECT_DOUBLE_EQ((GradientNoise{.variance = 1}.gain(9)), 9);
  EXPECT_DOUBLE_EQ(GradientNoise{}.gain(9), 1);
}

TEST(GradientNoise, GivesTheEfficiencyOfThePaper) {
  Random random(3);
  for (int i = 0; i < 10'000; ++i) {
    const GradientNoise noise{.squared = std::pow(10, random.uniform(-6, 3)),
                              .variance = std::pow(10, random.uniform(-6, 3))};
    const double initial = std::pow(10, random.uniform(0, 4));
    const double batch = initial * std::pow(10, random.uniform(0, 3));
    const double phi = initial * noise.variance / noise.squared;

    const double efficiency = noise.gain(batch / initial) * initial / batch;

    ASSERT_NEAR(efficiency, (phi + initial) / (phi + batch), 1e-12);
    ASSERT_LE(efficiency, 1 + 1e-12);
    ASSERT_GE(noise.gain(batch / initial), 1 - 1e-12);
  }
}

TEST(BestGoodput, OfTwoWorkersAsReckonedByHand) {
  // The only batch is 64: 32 each in 1.32 s, and half a second of exchange.
  const BatchLimits limits{.initial = 64, .max = 64, .local_min = 8, .local_max = 64};

  const Goodput best =
      best_goodput(simple(), {.squared = 1, .variance = 1}, BatchSizes(limits, 2), 1);

  EXPECT_EQ(best.split, (BatchSplit{.local = 32}));
  EXPECT_DOUBLE_EQ(best.rate, 64 / 1.82);
}

TEST(BestGoodput, TakesTheLargestBatchIfNoiseIsAllThereIs) {
  // Steps of 128 samples cost 2.28 s, of 64 samples 1.64 s.
  const BatchLimits limits{.initial = 64, .max = 256, .local_min = 8, .local_max = 128};

  const Goodput noisy =
      best_goodput(simple(), {.squared = 0, .variance = 1}, BatchSizes(limits, 2), 1);
  const Goodput clear =
      best_goodput(simple(), {.squared = 1, .variance = 0}, BatchSizes(limits, 2), 1);

  EXPECT_EQ(noisy.split, (BatchSplit{.local = 128}));
  EXPECT_DOUBLE_EQ(noisy.rate, 256 / (1 + 1.28 + 0.5));
  EXPECT_EQ(clear.split, (BatchSplit{.local = 32}));
  EXPECT_DOUBLE_EQ(clear.rate, 64 / (1 + 0.32 + 0.5));
}

TEST(BestGoodput, AccumulatesOnOneWorkerBeyondItsInitialBatch) {
  // 64 samples in 1.64 s, or twice 80 in 1.8 s each.
  const BatchLimits limits{.initial = 64, .max = 160, .local_min = 8, .local_max = 128};

  const Goodput best =
      best_goodput(simple(), {.squared = 0, .variance = 1}, BatchSizes(limits, 1), 1);

  EXPECT_EQ(best.split, (BatchSplit{.local = 80, .accumulation = 1}));
  EXPECT_DOUBLE_EQ(best.rate, 160 / (2 * 1.8));
}

TEST(BestGoodput, IsNoneIfTheBatchCannotBeSplitThatFar) {
  const BatchLimits limits{.initial = 64, .max = 128, .local_min = 16, .local_max = 64};

  EXPECT_GT(best_goodput(simple(), {.squared = 1, .variance = 1}, BatchSizes(limits, 8), 1).rate,
            0);
  EXPECT_EQ(best_goodput(simple(), {.squared = 1, .variance = 1}, BatchSizes(limits, 9), 1).rate,
            0);
}

TEST(BestGoodput, IsTheBestOfFiftySizes) {
  Random random(5);
  int runnable = 0;
  for (int i = 0; i < 5'000; ++i) {
    const Drawn world = draw(random);

    const Goodput best = best_goodput(world.model, world.noise,
                                      BatchSizes(world.limits, world.workers), world.nodes);

    const BruteForce expected = brute_force(world);
    ASSERT_NEAR(best.rate, expected.rate, 1e-6 * expected.rate) << "world " << i;
    ASSERT_EQ(best.rate > 0, expected.tried > 0) << "world " << i;
    if (best.rate > 0) {
      ++runnable;
      ASSERT_NEAR(best.rate, paper_goodput(world, best.split.local, best.split.accumulation),
                  1e-6 * best.rate);
      ASSERT_GE(best.split.local, world.limits.local_min);
      ASSERT_LE(best.split.local, world.limits.local_max);
    }
  }
  EXPECT_GT(runnable, 1'000);
}

TEST(SplitBatch, TakesAsFewPassesAsMemoryPermits) {
  const BatchLimits limits{.initial = 32, .max = 1024, .local_min = 4, .local_max = 64};

  EXPECT_EQ(split_batch(128, limits, 2), (BatchSplit{.local = 64}));
  EXPECT_EQ(split_batch(130, limits, 2), (BatchSplit{.local = 33, .accumulation = 1}));
  EXPECT_EQ(split_batch(384, limits, 2), (BatchSplit{.local = 64, .accumulation = 2}));
}

TEST(SplitBatch, AccumulatesOnOneWorkerBeyondItsInitialBatch) {
  const BatchLimits limits{.initial = 32, .max = 1024, .local_min = 4, .local_max = 64};

  EXPECT_EQ(split_batch(32, limits, 1), (BatchSplit{.local = 32}));
  EXPECT_EQ(split_batch(33, limits, 1), (BatchSplit{.local = 17, .accumulation = 1}));
  EXPECT_EQ(split_batch(64, limits, 1), (BatchSplit{.local = 32, .accumulation = 1}));
  EXPECT_EQ(split_batch(64, limits, 2), (BatchSplit{.local = 32}));
}

TEST(SplitBatch, NeverGivesFewerSamplesNorMoreThanPermitted) {
  Random random(7);
  for (int i = 0; i < 10'000; ++i) {
    const Drawn world = draw(random);
    const int batch = static_cast<int>(random.integer(1, world.limits.max));

    const BatchSplit split = split_batch(batch, world.limits, world.workers);

    ASSERT_LE(split.local, world.limits.local_max);
    const int passes = world.workers * (split.accumulation + 1);
    const bool rounds_over_max = batch > world.limits.max / passes * passes;
    ASSERT_TRUE(split.batch(world.workers) >= batch || rounds_over_max) << "world " << i;
    ASSERT_TRUE(split.batch(world.workers) <= world.limits.max || split.local == 1);
    ASSERT_LT(split.batch(world.workers), batch + 2 * passes);
  }
}

}  // namespace
}  // namespace rubato
