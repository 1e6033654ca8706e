#include "rubato/metrics/confidence.h"

#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/metrics/columns.h"

namespace rubato {
namespace {

TEST(Confidence, FollowsTheTableOfT) {
  EXPECT_DOUBLE_EQ(student_t(1), 12.706);
  EXPECT_DOUBLE_EQ(student_t(10), 2.228);
  EXPECT_NEAR(student_t(31), 2.0395, 1e-4);
  EXPECT_NEAR(student_t(40), 2.0211, 1e-4);
  EXPECT_NEAR(student_t(120), 1.9799, 1e-4);
  for (int freedom = 1; freedom < 200; ++freedom) {
    EXPECT_GT(student_t(freedom), student_t(freedom + 1));
  }
}

TEST(Confidence, OfThreeSamplesByHand) {
  const std::array samples{1.0, 2.0, 3.0};  // Deviation 1, error 1 / sqrt(3), t = 4.303.

  const Interval interval = confidence_interval(samples);

  EXPECT_DOUBLE_EQ(interval.mean, 2);
  EXPECT_DOUBLE_EQ(interval.half_width, 4.303 / std::sqrt(3.0));
}

TEST(Confidence, SaysNothingAboutTheSpreadOfOneSample) {
  const std::array samples{5.0};

  EXPECT_EQ(confidence_interval(samples), (Interval{.mean = 5, .half_width = 0}));
  EXPECT_EQ(confidence_interval({}), Interval{});
}

TEST(Confidence, HoldsTheTrueMeanAboutNineteenTimesInTwenty) {
  Random random(4711);
  int covered = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    std::array<double, 5> samples{};
    for (double& sample : samples) {
      sample = random.normal(10, 3);
    }
    const Interval interval = confidence_interval(samples);
    covered += std::abs(interval.mean - 10) <= interval.half_width ? 1 : 0;
  }

  EXPECT_NEAR(covered / 4000.0, 0.95, 0.015);
}

TEST(Confidence, HasOneIntervalForEachColumn) {
  const std::vector<Summary> seeds{{.jobs = 2, .quote_error_p90 = 1},
                                   {.jobs = 4, .quote_error_p90 = 1}};

  const auto intervals = confidence_intervals(seeds);

  ASSERT_EQ(intervals.size(), summary_columns().size());
  EXPECT_DOUBLE_EQ(intervals.front().mean, 3);
  EXPECT_DOUBLE_EQ(intervals.front().half_width, 12.706);
  EXPECT_EQ(intervals.back(), (Interval{.mean = 1, .half_width = 0}));
}

}  // namespace
}  // namespace rubato
