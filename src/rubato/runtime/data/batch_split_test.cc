#include "rubato/runtime/data/batch_split.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rubato/base/random.h"
#include "rubato/runtime/data/sample_order.h"

namespace rubato {
namespace {

std::vector<std::uint64_t> sizes_of(const StepSplit& split) {
  std::vector<std::uint64_t> sizes;
  for (const StepRange& shard : split.shards()) {
    sizes.push_back(shard.samples());
  }
  return sizes;
}

StepSplit split_of(std::uint64_t samples, const SplitRequest& request) {
  StepSplit split;
  split.split({.epoch = 0, .begin = 100, .end = 100 + samples}, request);
  return split;
}

TEST(StepSplit, GivesTheFirstRanksOneMore) {
  const StepSplit split = split_of(11, {.ranks = 4});

  EXPECT_THAT(sizes_of(split), testing::ElementsAre(3, 3, 3, 2));
  EXPECT_EQ(split.shards()[0].begin, 100U);
  EXPECT_EQ(split.shards()[3].end, 111U);
  EXPECT_FLOAT_EQ(split.weights()[0], 3.0F / 11);
  EXPECT_EQ(split.slots(), 1U);
}

TEST(StepSplit, LeavesShardsEmptyIfThereAreTooFewSamples) {
  const StepSplit split = split_of(2, {.ranks = 4});

  EXPECT_THAT(sizes_of(split), testing::ElementsAre(1, 1, 0, 0));
  EXPECT_EQ(split.weights()[2], 0.0F);
}

TEST(StepSplit, FollowsSpeeds) {
  const std::vector<double> speeds = {2, 1, 1};
  const std::vector<double> one_idle = {1, 0, 1};

  EXPECT_THAT(sizes_of(split_of(10, {.ranks = 3, .speeds = speeds})),
              testing::ElementsAre(5, 3, 2));
  EXPECT_THAT(sizes_of(split_of(9, {.ranks = 3, .speeds = one_idle})),
              testing::ElementsAre(5, 0, 4));
}

TEST(StepSplit, CutsTheSameShardsForAnyNumberOfRanks) {
  const StepSplit alone = split_of(50, {.ranks = 1, .shards = kVirtualShards});
  const StepSplit three = split_of(50, {.ranks = 3, .shards = kVirtualShards});
  const std::vector<double> speeds = {3, 1};
  const StepSplit uneven = split_of(50, {.ranks = 2, .shards = kVirtualShards, .speeds = speeds});

  EXPECT_EQ(sizes_of(alone), sizes_of(three));
  EXPECT_EQ(sizes_of(alone), sizes_of(uneven));
  EXPECT_EQ(alone.slots(), 8U);
  EXPECT_EQ(three.slots(), 3U);
  EXPECT_EQ(three.first_shard(2), 6U);
  EXPECT_EQ(three.shard_count(2), 2U);
  EXPECT_EQ(three.places()[7].rank, 2);
  EXPECT_EQ(three.places()[7].slot, 1);
  EXPECT_EQ(uneven.shard_count(0), 6U);
}

TEST(StepSplit, LeavesRanksWithoutShardsIfThereAreTooFew) {
  const StepSplit split = split_of(50, {.ranks = 10, .shards = 8});

  EXPECT_EQ(split.shard_count(7), 1U);
  EXPECT_EQ(split.shard_count(9), 0U);
  EXPECT_EQ(split.first_shard(9), 8U);
}

TEST(StepSplit, AllocatesNothingWhenAskedAgain) {
  const std::vector<double> speeds = {3, 1, 2};
  StepSplit split;
  split.split({.epoch = 0, .begin = 0, .end = 90}, {.ranks = 3, .speeds = speeds});
  const auto* shards = split.shards().data();
  const auto* weights = split.weights().data();
  const auto* places = split.places().data();

  split.split({.epoch = 0, .begin = 90, .end = 91}, {.ranks = 3, .speeds = speeds});
  split.split({.epoch = 1, .begin = 0, .end = 40}, {.ranks = 2});

  EXPECT_EQ(split.shards().data(), shards);
  EXPECT_EQ(split.weights().data(), weights);
  EXPECT_EQ(split.places().data(), places);
}

TEST(DataCursor, EndsAnEpochWithAShortBatchOrWithoutIt) {
  const EpochCut keeps{.samples = 10, .batch = 4};
  const EpochCut drops{.samples = 10, .batch = 4, .drop_last = true};
  const DataCursor late{.step = 2, .epoch = 0, .position = 8};

  EXPECT_EQ(step_range(late, keeps), (StepRange{.epoch = 0, .begin = 8, .end = 10}));
  EXPECT_EQ(advance(late, keeps), (DataCursor{.step = 3, .epoch = 1, .position = 0}));
  EXPECT_EQ(step_range(late, drops), (StepRange{.epoch = 1, .begin = 0, .end = 4}));
  EXPECT_EQ(advance(late, drops), (DataCursor{.step = 3, .epoch = 1, .position = 4}));
  const DataCursor one_short{.step = 2, .epoch = 0, .position = 7};
  EXPECT_EQ(step_range(one_short, drops), (StepRange{.epoch = 1, .begin = 0, .end = 4}));
  const DataCursor just_enough{.step = 2, .epoch = 0, .position = 6};
  EXPECT_EQ(step_range(just_enough, drops), (StepRange{.epoch = 0, .begin = 6, .end = 10}));
}

TEST(DataCursor, UsesAWholeEpochInOneStepIfTheBatchIsLarger) {
  const EpochCut cut{.samples = 3, .batch = 8};

  EXPECT_EQ(step_range({}, cut), (StepRange{.epoch = 0, .begin = 0, .end = 3}));
  EXPECT_EQ(advance({}, cut), (DataCursor{.step = 1, .epoch = 1, .position = 0}));
}

TEST(DataCursor, SaysWhyAnEpochCannotBeCut) {
  EXPECT_TRUE(check_cut({.samples = 8, .batch = 8, .drop_last = true}).ok());
  EXPECT_FALSE(check_cut({.samples = 0, .batch = 1}).ok());
  EXPECT_FALSE(check_cut({.samples = 1, .batch = 0}).ok());
  EXPECT_THAT(check_cut({.samples = 7, .batch = 8, .drop_last = true}).error().message,
              testing::HasSubstr("a batch of 8 is larger than the dataset of 7"));
}

RC_GTEST_PROP(StepSplit, SharesEverySampleOnceAndWeighsThem, (std::uint64_t seed)) {
  Random random(seed);
  const int ranks = static_cast<int>(random.integer(1, 20));
  const auto samples = static_cast<std::uint64_t>(random.integer(1, 5000));
  std::vector<double> speeds;
  if (random.chance(0.5)) {
    speeds.resize(static_cast<std::size_t>(ranks));
    for (double& speed : speeds) {
      speed = random.chance(0.1) ? 0 : random.lognormal(0, 2);
    }
  }
  const SplitRequest request{
      .ranks = ranks,
      .shards = static_cast<int>(random.chance(0.5) ? 0 : random.integer(1, 32)),
      .speeds = speeds};

  const StepSplit split = split_of(samples, request);

  std::uint64_t next = 100;
  double weight = 0;
  for (std::size_t i = 0; i < split.shards().size(); ++i) {
    RC_ASSERT(split.shards()[i].begin == next);
    next = split.shards()[i].end;
    weight += static_cast<double>(split.weights()[i]);
    const ShardPlace place = split.places()[i];
    RC_ASSERT(split.first_shard(place.rank) + static_cast<std::size_t>(place.slot) == i);
    RC_ASSERT(static_cast<std::size_t>(place.slot) < split.shard_count(place.rank));
    RC_ASSERT(static_cast<std::size_t>(place.slot) < split.slots());
  }
  RC_ASSERT(next == 100 + samples);
  RC_ASSERT(std::abs(weight - 1) < 1e-5);
  if (!speeds.empty() && request.shards == 0) {
    const double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
    for (std::size_t i = 0; sum > 0 && i < speeds.size(); ++i) {
      const double exact = static_cast<double>(samples) * speeds[i] / sum;
      RC_ASSERT(std::abs(static_cast<double>(split.shards()[i].samples()) - exact) < 1 + 1e-6);
      RC_ASSERT(speeds[i] > 0 || split.shards()[i].samples() == 0);
    }
  }
}

// A job whose size and batch change at random, and some of whose steps are broken off and redone.
struct RandomHistory {
  explicit RandomHistory(std::uint64_t seed) : random(seed) {
    cut.samples = static_cast<std::uint64_t>(random.integer(1, 200));
    cut.drop_last = random.chance(0.3);
    order = {.dataset_size = cut.samples, .seed = random.next()};
    change();
  }

  void change() {
    ranks = static_cast<int>(random.integer(1, 9));
    shards = random.chance(0.5) ? 0 : kVirtualShards;
    const std::uint64_t batch_max = cut.drop_last ? cut.samples : 64;
    cut.batch = static_cast<std::uint64_t>(random.integer(1, static_cast<std::int64_t>(batch_max)));
    batch_seen_max = std::max(batch_seen_max, cut.batch);
  }

  // Computes a step; counts its samples only if it is committed.
  void step() {
    split.split(step_range(cursor, cut), {.ranks = ranks, .shards = shards});
    if (random.chance(0.2)) {
      change();
      return;
    }
    for (const StepRange& shard : split.shards()) {
      const EpochOrder samples = order.epoch(shard.epoch);
      auto& times = used[shard.epoch];
      times.resize(cut.samples);
      for (std::uint64_t i = shard.begin; i < shard.end; ++i) {
        ++times[samples.at(i)];
      }
    }
    cursor = advance(cursor, cut);
  }

  Random random;
  EpochCut cut{};
  SampleOrder order{};
  DataCursor cursor{};
  StepSplit split{};
  int ranks = 1;
  int shards = 0;
  std::uint64_t batch_seen_max = 0;
  std::map<std::uint64_t, std::vector<int>> used{};  // How often, by epoch and sample.
};

TEST(DataCursor, UsesEachSampleOfAnEpochOnceWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    RandomHistory history(seed);
    for (int i = 0; i < 40; ++i) {
      history.step();
    }

    for (const auto& [epoch, times] : history.used) {
      ASSERT_LE(std::ranges::max(times), 1) << "seed " << seed;
      if (epoch < history.cursor.epoch) {
        const auto missing = static_cast<std::uint64_t>(std::ranges::count(times, 0));
        ASSERT_LE(missing, history.cut.drop_last ? history.batch_seen_max - 1 : 0) << seed;
      }
    }
  }
}

}  // namespace
}  // namespace rubato
