#include "rubato/runtime/data/sample_order.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rubato {
namespace {

std::vector<std::uint64_t> whole_epoch(const SampleOrder& order, std::uint64_t epoch) {
  const EpochOrder positions = order.epoch(epoch);
  std::vector<std::uint64_t> samples(order.dataset_size);
  for (std::uint64_t i = 0; i < order.dataset_size; ++i) {
    samples[i] = positions.at(i);
  }
  return samples;
}

// How many standard deviations Pearson's statistic lies above its mean if all counts are equally
// likely.
double excess(const std::vector<double>& counts) {
  const double mean =
      std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
  double statistic = 0;
  for (const double count : counts) {
    statistic += (count - mean) * (count - mean) / mean;
  }
  const double degrees = static_cast<double>(counts.size()) - 1;
  return (statistic - degrees) / std::sqrt(2 * degrees);
}

using Order = std::function<std::uint64_t(std::uint64_t epoch, std::uint64_t position)>;
constexpr std::uint64_t kSize = 30;
constexpr std::uint64_t kEpochs = 20000;

// Whether each sample is as likely at one position as at any other.
double position_excess(const Order& order) {
  std::vector<double> counts(kSize * kSize);
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (std::uint64_t i = 0; i < kSize; ++i) {
      counts[i * kSize + order(epoch, i)] += 1;
    }
  }
  return excess(counts);
}

// Whether the sample after another is as likely to be one as any other.
double neighbour_excess(const Order& order, std::uint64_t size, std::uint64_t epochs) {
  std::vector<double> counts(size - 1);
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    for (std::uint64_t i = 0; i + 1 < size; i += 7) {
      counts[(order(epoch, i + 1) + size - order(epoch, i)) % size - 1] += 1;
    }
  }
  return excess(counts);
}

constexpr double kSuspicious = 5;  // Standard deviations.

RC_GTEST_PROP(SampleOrder, UsesEverySampleOnce, ()) {
  const SampleOrder order{.dataset_size = *rc::gen::inRange<std::uint64_t>(1, 5001),
                          .seed = *rc::gen::arbitrary<std::uint64_t>()};

  auto samples = whole_epoch(order, *rc::gen::arbitrary<std::uint64_t>());

  std::ranges::sort(samples);
  for (std::uint64_t i = 0; i < order.dataset_size; ++i) {
    RC_ASSERT(samples[i] == i);
  }
}

TEST(SampleOrder, UsesEverySampleOnceForEverySmallSize) {
  for (std::uint64_t size = 1; size <= 300; ++size) {
    auto samples = whole_epoch(SampleOrder{.dataset_size = size, .seed = 7}, 3);

    std::ranges::sort(samples);
    ASSERT_EQ(std::ranges::unique(samples).begin(), samples.end()) << size;
    ASSERT_EQ(samples.back(), size - 1);
  }
}

TEST(SampleOrder, DiffersBetweenEpochsAndBetweenSeeds) {
  const auto first = whole_epoch({.dataset_size = 1000, .seed = 1}, 0);
  const auto next_epoch = whole_epoch({.dataset_size = 1000, .seed = 1}, 1);
  const auto other_seed = whole_epoch({.dataset_size = 1000, .seed = 2}, 0);
  const auto same_places = [](const auto& left, const auto& right) {
    int same = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      same += left[i] == right[i] ? 1 : 0;
    }
    return same;
  };

  // One place in common is expected of two unrelated orders.
  EXPECT_LT(same_places(first, next_epoch), 8);
  EXPECT_LT(same_places(first, other_seed), 8);
  EXPECT_LT(same_places(next_epoch, other_seed), 8);
}

TEST(SampleOrder, FavoursNoPositionAndNoNeighbour) {
  const SampleOrder order{.dataset_size = kSize, .seed = 11};
  const Order ours = [&](auto epoch, auto position) { return order.at(epoch, position); };

  EXPECT_LT(position_excess(ours), kSuspicious);
  EXPECT_LT(neighbour_excess(ours, kSize, kEpochs), kSuspicious);
}

TEST(SampleOrder, MixesLargeDatasetsInFewerRounds) {
  const SampleOrder order{.dataset_size = 1024, .seed = 11};
  const Order ours = [&](auto epoch, auto position) { return order.at(epoch, position); };

  EXPECT_LT(neighbour_excess(ours, 1024, 1000), kSuspicious);
}

TEST(SampleOrder, TheseTestsWouldSeeAPoorOrder) {
  const Order rotation = [](auto epoch, auto position) { return (position + epoch) % kSize; };
  const Order halves = [](auto epoch, auto position) {
    const std::uint64_t half = kSize / 2;
    return position < half ? (position + epoch) % half : half + (position + epoch) % half;
  };

  EXPECT_GT(neighbour_excess(rotation, kSize, kEpochs), kSuspicious);
  EXPECT_GT(position_excess(halves), kSuspicious);
}

TEST(SampleOrder, ReachesAllOrdersOfASmallDatasetEquallyOften) {
  const std::map<std::uint64_t, std::size_t> orders = {{3, 6}, {4, 24}, {5, 120}, {6, 720}};
  for (const auto& [size, permutations] : orders) {
    const SampleOrder order{.dataset_size = size, .seed = 5};
    std::map<std::vector<std::uint64_t>, double> seen;
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      seen[whole_epoch(order, epoch)] += 1;
    }

    std::vector<double> counts;
    for (const auto& [samples, count] : seen) {
      counts.push_back(count);
    }
    EXPECT_EQ(counts.size(), permutations);
    EXPECT_LT(excess(counts), kSuspicious) << size;
  }
}

TEST(SampleOrder, LeavesAnUnshuffledDatasetAsItLies) {
  const SampleOrder order{.dataset_size = 9, .seed = 3, .is_shuffled = false};

  EXPECT_THAT(whole_epoch(order, 4), testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
}

// What a snapshot's position means depends on these: they hold for all versions to come.
TEST(SampleOrder, IsTheSameInEveryVersion) {
  EXPECT_THAT(whole_epoch({.dataset_size = 10, .seed = 1}, 0),
              testing::ElementsAre(0, 1, 4, 8, 5, 7, 6, 3, 2, 9));
  EXPECT_THAT(whole_epoch({.dataset_size = 10, .seed = 1}, 1),
              testing::ElementsAre(2, 5, 6, 3, 4, 1, 9, 0, 8, 7));
  EXPECT_THAT(whole_epoch({.dataset_size = 7, .seed = 12345}, 2),
              testing::ElementsAre(1, 4, 5, 3, 6, 2, 0));
  EXPECT_EQ((SampleOrder{.dataset_size = 60000, .seed = 42}.at(17, 59999)), 51397U);
  EXPECT_EQ((SampleOrder{.dataset_size = 1'000'000'000'007, .seed = 42}.at(3, 123'456'789)),
            562955684645U);
}

TEST(SampleOrder, TakesTheLargestSize) {
  const SampleOrder order{.dataset_size = std::uint64_t{1} << 62U, .seed = 1};

  EXPECT_LT(order.at(0, order.dataset_size - 1), order.dataset_size);
  EXPECT_NE(order.at(0, 0), order.at(0, 1));
}

}  // namespace
}  // namespace rubato
