#include "rubato/policy/artifact/steps.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/artifact/frame_test.h"

namespace rubato::policy::artifact {
namespace {

constexpr WholeSeconds kHorizon = 40;

Steps random_steps(Random& random, int gpus_max) {
  Steps steps{{.from = 0, .gpus = static_cast<int>(random.integer(0, gpus_max))}};
  for (WholeSeconds second = 1; second < kHorizon; ++second) {
    if (random.integer(0, 3) == 0) {
      steps.push_back({.from = second, .gpus = static_cast<int>(random.integer(0, gpus_max))});
    }
  }
  return steps;
}

TEST(ArtifactSteps, MergingDropsStepsAtWhichNothingChanges) {
  Steps steps{{0, 4}, {10, 4}, {20, 3}, {30, 4}};

  merge(steps);

  EXPECT_EQ(steps, (Steps{{0, 4}, {20, 3}, {30, 4}}));
}

TEST(ArtifactSteps, GpuTimeOfAStepLastsToTheNextEvenBeyondTheEnd) {
  EXPECT_EQ(gpu_seconds({{0, 2}}, 25), 50);
  // Ends at 25, but its GPUs count up to the breakpoint at 40: 2 * 40 + 0 * (25 - 40).
  EXPECT_EQ(gpu_seconds({{0, 2}, {40, 0}}, 25), 80);
}

TEST(ArtifactSteps, AlignsUpwardsFromTheOrigin) {
  EXPECT_EQ(align_up(5, 5, 10), 5);
  EXPECT_EQ(align_up(5, 6, 10), 15);
  EXPECT_EQ(align_up(5, 15, 10), 15);
  EXPECT_EQ(align_up(5, 1, 10), 5);
  EXPECT_EQ(align_up(5, -6, 10), -5);
}

TEST(ArtifactSteps, GivingBackAddsSecondBySecond) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    Steps free = random_steps(random, 4);
    merge(free);
    const Steps steps = random_steps(random, 4);
    const WholeSeconds end = random.integer(1, kHorizon);
    const WholeSeconds until = random.integer(0, 3) == 0 ? kForever : random.integer(0, kHorizon);
    Steps sum;

    give_back(free, Held{.steps = steps, .end = end}, 6, until, sum);

    for (WholeSeconds second = 0; second <= std::min(until, kHorizon); ++second) {
      const int own = second < end ? value_at(steps, second) : 0;
      ASSERT_EQ(value_at(sum, second), std::min(6, value_at(free, second) + own))
          << "seed " << seed << " second " << second;
    }
    ASSERT_LE(sum.back().from, until);
    Steps merged = sum;
    merge(merged);
    ASSERT_EQ(merged, sum) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::policy::artifact
