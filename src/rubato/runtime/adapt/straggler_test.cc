#include "rubato/runtime/adapt/straggler.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

// Ranks of these speeds compute 32 samples each.
std::vector<RankCompute> step_at(const std::vector<double>& speeds) {
  std::vector<RankCompute> step;
  for (const double speed : speeds) {
    step.push_back({.samples = 32, .seconds = 32 / speed});
  }
  return step;
}

// Steps until the first straggler is named, at most `most`.
int steps_until_named(StragglerWatch& watch, const std::vector<RankCompute>& step, int most) {
  int steps = 0;
  while (steps < most && watch.stragglers().empty()) {
    watch.observe(step);
    ++steps;
  }
  return steps;
}

TEST(StragglerWatch, NamesARankAtHalfSpeedWithinTwentySteps) {
  StragglerWatch watch({});

  // 0.5 + 0.5 * 0.9^n is below 0.8 from n = 5 on.
  EXPECT_EQ(steps_until_named(watch, step_at({100, 100, 50, 100}), 20), 5);
  ASSERT_EQ(watch.stragglers().size(), 1U);
  EXPECT_EQ(watch.stragglers()[0].rank, 2);
  EXPECT_EQ(watch.stragglers()[0].steps, 5U);
  EXPECT_DOUBLE_EQ(watch.stragglers()[0].median_speed, 100);
}

TEST(StragglerWatch, NamesTheSlowerOfTwo) {
  StragglerWatch watch({});

  // The median lies between the two: 0.5 / 0.75 is approached.
  EXPECT_EQ(steps_until_named(watch, step_at({100, 50}), 20), 9);
  EXPECT_EQ(watch.stragglers()[0].rank, 1);
}

RC_GTEST_PROP(StragglerWatch, NeverNamesARankThatIsFivePercentSlow, (std::uint64_t seed)) {
  Random random(seed);
  StragglerWatch watch({});
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> speeds(static_cast<std::size_t>(5), 100);
    speeds[3] = 95;
    for (double& speed : speeds) {
      speed *= random.uniform(0.8, 1.2);
    }
    watch.observe(step_at(speeds));
    RC_ASSERT(watch.stragglers().empty());
  }
}

TEST(StragglerWatch, ForgivesAHiccup) {
  StragglerWatch watch({});
  for (int i = 0; i < 100; ++i) {
    const bool stalls = i % 20 == 0;
    watch.observe(step_at({100, stalls ? 1.0 : 100.0, 100}));
    ASSERT_TRUE(watch.stragglers().empty()) << i;
  }
}

TEST(StragglerWatch, JudgesARankByItsOwnSamples) {
  StragglerWatch watch({});
  const std::vector<RankCompute> step = {{.samples = 10, .seconds = 0.1},
                                         {.samples = 40, .seconds = 0.4},
                                         {.samples = 0, .seconds = 0.9},
                                         {.samples = 20, .seconds = 0.2}};

  EXPECT_EQ(steps_until_named(watch, step, 50), 50);
  EXPECT_DOUBLE_EQ(watch.relative_speed(2), 1);
}

TEST(StragglerWatch, LeavesOutRankZeroIfTold) {
  StragglerWatch lenient({.exempts_rank0 = true});
  StragglerWatch strict({});

  EXPECT_EQ(steps_until_named(lenient, step_at({50, 100, 100}), 50), 50);
  EXPECT_EQ(steps_until_named(strict, step_at({50, 100, 100}), 50), 5);
}

TEST(StragglerWatch, RemembersRanksAcrossGenerations) {
  StragglerWatch watch({});
  for (int i = 0; i < 4; ++i) {
    watch.observe(step_at({100, 100, 100, 50}));
  }
  const double before = watch.relative_speed(3);

  watch.regroup(std::vector<int>{3, 0, 1, -1});

  EXPECT_DOUBLE_EQ(watch.relative_speed(0), before);
  EXPECT_DOUBLE_EQ(watch.relative_speed(3), 1);
  watch.observe(step_at({50, 100, 100, 100}));
  ASSERT_EQ(watch.stragglers().size(), 1U);
  EXPECT_EQ(watch.stragglers()[0].rank, 0);
  EXPECT_EQ(watch.stragglers()[0].steps, 5U);
}

TEST(StragglerWatch, SaysWhy) {
  EXPECT_EQ(
      straggler_text({.rank = 2, .relative_speed = 0.612, .median_speed = 120, .steps = 14}, {}),
      "rank 2 computes at 0.61 of the median speed (120.0 samples/s; 14 steps seen, limit "
      "0.80)");
}

}  // namespace
}  // namespace rubato
