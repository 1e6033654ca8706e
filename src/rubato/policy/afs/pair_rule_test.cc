#include "rubato/policy/afs/pair_rule.h"

#include <cmath>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::afs {
namespace {

// A job of this length at one GPU whose second GPU adds `gain` of its speed.
GrowthBid with_second_gpu(double length, double gain) {
  return bid_of(length, {.workers = 1, .speed = 1}, {.workers = 2, .speed = 1 + gain});
}

GrowthBid without_gpus(double length_on_one) {
  return bid_of(length_on_one, {}, {.workers = 1, .speed = 1});
}

// Summed completion times of a (which ends first) and b, when b goes on at rate `future`.
double summed(double time_a, double work_b, double speed_b, double future) {
  return 2 * time_a + (work_b - speed_b * time_a) / future;
}

TEST(PairRule, ComparesTheShortersPresentWithTheLongersFutureSpeed) {
  // 1.5/1 + 1/1.5 = 2.17 > 2: on equal scaling the shorter job wins.
  EXPECT_FALSE(beats_by_length(with_second_gpu(20, 0.5), with_second_gpu(10, 0.5)));
  EXPECT_TRUE(beats_by_length(with_second_gpu(10, 0.5), with_second_gpu(20, 0.5)));
  // 1.3/1 + 1/1.9 = 1.83 < 2: the longer one scales much better.
  EXPECT_TRUE(beats_by_length(with_second_gpu(20, 0.9), with_second_gpu(10, 0.3)));
  EXPECT_FALSE(beats_by_length(with_second_gpu(10, 0.3), with_second_gpu(20, 0.9)));
}

TEST(PairRule, TakesTheEarlierOfTwoEqualJobs) {
  EXPECT_FALSE(beats_by_length(with_second_gpu(10, 0.5), with_second_gpu(10, 0.5)));
  EXPECT_FALSE(beats_by_length(without_gpus(10), without_gpus(10)));
}

TEST(PairRule, GivesTheFirstGpuToWhoWouldBeShorter) {
  EXPECT_TRUE(beats_by_length(without_gpus(10), without_gpus(20)));
  EXPECT_FALSE(beats_by_length(without_gpus(20), without_gpus(10)));
}

TEST(PairRule, GivesNobodyASecondGpuBeforeAllHaveOne) {
  // Even linear scaling gains no more than a job without GPUs does.
  EXPECT_TRUE(beats_by_length(without_gpus(1000), with_second_gpu(1, 1.0)));
  EXPECT_FALSE(beats_by_length(with_second_gpu(1, 1.0), without_gpus(1000)));
  EXPECT_TRUE(beats_by_length(with_second_gpu(1, 1.1), without_gpus(1000)));
}

TEST(PairRule, IsNotTransitive) {
  const GrowthBid x = with_second_gpu(1, 0.4);
  const GrowthBid y = with_second_gpu(2, 0.6);
  const GrowthBid z = with_second_gpu(3, 0.8);

  EXPECT_TRUE(beats_by_length(x, y) && !beats_by_length(y, x));
  EXPECT_TRUE(beats_by_length(y, z) && !beats_by_length(z, y));
  EXPECT_TRUE(beats_by_length(z, x) && !beats_by_length(x, z));
}

TEST(PairRule, CountsGainPerGpuOfABlock) {
  const GrowthBid block = bid_of(10, {.workers = 4, .speed = 2}, {.workers = 8, .speed = 3});

  EXPECT_DOUBLE_EQ(block.gain_if_short, 0.125);
  EXPECT_DOUBLE_EQ(block.gain_if_long, 1.0 / 12);
  EXPECT_DOUBLE_EQ(block.length, 5);
}

TEST(PairRule, DiffersFromTheCopyThatTakesLengthsAtTheOtherJobsShare) {
  const GrowthBid two_gpus = bid_of(10, {.workers = 2, .speed = 2}, {.workers = 3, .speed = 3});
  const GrowthBid one_gpu = with_second_gpu(6, 0.5);  // 6 s as it is, but 4 s on two GPUs.
  GrowthBid wrong = one_gpu;
  wrong.length = 4;

  EXPECT_FALSE(beats_by_length(one_gpu, two_gpus));  // 6 s against 5 s: it is the longer one.
  EXPECT_TRUE(beats_by_length(wrong, two_gpus));
}

TEST(PairRule, DiffersFromTheCopyWithNewSpeedsInBothDenominators) {
  const auto wrong = [](const GrowthBid& challenger, const GrowthBid& leader) {
    return challenger.gain_if_long > leader.gain_if_long;
  };
  const GrowthBid shorter = with_second_gpu(1, 0.5);
  const GrowthBid longer = with_second_gpu(2, 0.6);

  EXPECT_TRUE(wrong(longer, shorter));             // 0.375 > 0.333
  EXPECT_FALSE(beats_by_length(longer, shorter));  // 0.5 > 0.375
}

TEST(PairRule, MinimisesTheSummedCompletionTimeOfTwoJobsOnRandomPairs) {
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const double work_a = random.uniform(1, 10);
    const double work_b = random.uniform(10, 100);
    const double gain_a = random.uniform(0.01, 1);
    const double gain_b = random.uniform(0.01, 1);

    // a stays the shorter one either way, and b is not assumed to gain more than its next GPU.
    const double future = 1 + gain_b;
    const double if_a = summed(work_a / (1 + gain_a), work_b, 1, future);
    const double if_b = summed(work_a, work_b, 1 + gain_b, future);
    if (std::abs(if_a - if_b) < 1e-9) {
      continue;
    }

    const GrowthBid a = with_second_gpu(work_a, gain_a);
    const GrowthBid b = with_second_gpu(work_b, gain_b);
    ASSERT_EQ(beats_by_length(a, b), if_a < if_b) << i;
    ASSERT_EQ(beats_by_length(b, a), if_b < if_a) << i;
  }
}

TEST(PairRule, DecidesWithoutLengthsOnlyWhatLengthsCannotChange) {
  Random random(2);
  int open = 0;
  for (int i = 0; i < 20'000; ++i) {
    const double gain_x = random.uniform(0.01, 1);
    const double gain_y = random.uniform(0.01, 1);

    const Winner winner =
        winner_at_any_length(with_second_gpu(1, gain_x), with_second_gpu(1, gain_y));

    const bool if_x_short = beats_by_length(with_second_gpu(1, gain_x), with_second_gpu(2, gain_y));
    const bool if_x_long = beats_by_length(with_second_gpu(2, gain_x), with_second_gpu(1, gain_y));
    if (winner == Winner::Open) {
      ++open;
      ASSERT_NE(if_x_short, if_x_long);
    } else {
      ASSERT_EQ(if_x_short, winner == Winner::Challenger);
      ASSERT_EQ(if_x_long, winner == Winner::Challenger);
    }
  }
  EXPECT_GT(open, 1000);
}

}  // namespace
}  // namespace rubato::policy::afs
