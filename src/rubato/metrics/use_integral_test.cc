#include "rubato/metrics/use_integral.h"

#include <algorithm>
#include <rapidcheck.h>
#include <vector>

#include <gtest/gtest.h>

namespace rubato {
namespace {

// 4 GPUs; 2 used from second 10, 4 used from second 20.
const std::vector<UseSample> kSamples{
    {.at = at_seconds(10), .gpus_used = 2, .gpus_up = 4, .speedup = 1, .running = 1, .waiting = 2},
    {.at = at_seconds(20), .gpus_used = 4, .gpus_up = 4, .speedup = 3, .running = 2, .waiting = 0}};

TEST(UseIntegral, AddsUpSamplesUntilTheNextOne) {
  const UseSum sum = UseIntegral(kSamples).over(at_seconds(15), at_seconds(30));

  EXPECT_DOUBLE_EQ(sum.gpu_seconds_used, 5 * 2 + 10 * 4);
  EXPECT_DOUBLE_EQ(sum.gpu_seconds_up, 15 * 4);
  EXPECT_DOUBLE_EQ(sum.active_seconds, 5 * 3 + 10 * 2);
  EXPECT_DOUBLE_EQ(sum.efficiency_seconds, 5 * 0.25 + 10 * 0.75);
  EXPECT_DOUBLE_EQ(sum.up_seconds, 15);
}

TEST(UseIntegral, HasGpusUpButUnusedBeforeTheFirstSample) {
  const UseSum sum = UseIntegral(kSamples).over(at_seconds(0), at_seconds(12));

  EXPECT_DOUBLE_EQ(sum.gpu_seconds_used, 2 * 2);
  EXPECT_DOUBLE_EQ(sum.gpu_seconds_up, 12 * 4);
}

TEST(UseIntegral, OfNothingIsZero) {
  EXPECT_EQ(UseIntegral({}).over(at_seconds(0), at_seconds(9)).gpu_seconds_up, 0);
  EXPECT_EQ(UseIntegral(kSamples).over(at_seconds(9), at_seconds(9)).gpu_seconds_up, 0);
  EXPECT_EQ(UseIntegral(kSamples).over(at_seconds(9), at_seconds(3)).gpu_seconds_up, 0);
}

TEST(UseIntegral, LeavesTimeWithoutGpusOutOfTheEfficiency) {
  const std::vector<UseSample> samples{
      {.at = at_seconds(0), .gpus_used = 1, .gpus_up = 1, .speedup = 1},
      {.at = at_seconds(5), .gpus_used = 0, .gpus_up = 0}};

  const UseSum sum = UseIntegral(samples).over(at_seconds(0), at_seconds(10));

  EXPECT_DOUBLE_EQ(sum.up_seconds, 5);
  EXPECT_DOUBLE_EQ(sum.efficiency_seconds, 5);
}

TEST(UseIntegral, AgreesWithAddingUpSecondBySecond) {
  EXPECT_TRUE(rc::check([] {
    std::vector<UseSample> samples;
    int at = *rc::gen::inRange(0, 5);
    while (samples.size() < 8) {
      samples.push_back({.at = at_seconds(at), .gpus_used = *rc::gen::inRange(0, 9), .gpus_up = 8});
      at += *rc::gen::inRange(0, 4);
    }
    const int from = *rc::gen::inRange(0, 40);
    const int to = *rc::gen::inRange(0, 40);
    double expected = 0;
    for (int second = from; second < to; ++second) {
      int used = 0;
      for (const UseSample& sample : samples) {
        used = sample.at <= at_seconds(second) ? sample.gpus_used : used;
      }
      expected += used;
    }

    const UseSum sum = UseIntegral(samples).over(at_seconds(from), at_seconds(to));

    RC_ASSERT(std::abs(sum.gpu_seconds_used - expected) < 1e-9);
    RC_ASSERT(std::abs(sum.gpu_seconds_up - 8 * std::max(0, to - from)) < 1e-9);
  }));
}

}  // namespace
}  // namespace rubato
