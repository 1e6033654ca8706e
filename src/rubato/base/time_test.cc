#include "rubato/base/time.h"

#include <limits>

#include <gtest/gtest.h>

namespace rubato {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

TEST(Time, RoundsSecondsToTheNearestMicrosecond) {
  EXPECT_EQ(from_seconds(1.5), Duration{1'500'000});
  EXPECT_EQ(from_seconds(0.000'000'4), Duration{0});
  EXPECT_EQ(from_seconds(0.000'000'6), Duration{1});
  EXPECT_EQ(from_seconds(-0.000'000'6), Duration{-1});
}

TEST(Time, RoundsUpWhatMustNotBePromisedTooEarly) {
  EXPECT_EQ(from_seconds_up(2.0), Duration{2'000'000});
  EXPECT_EQ(from_seconds_up(0.000'000'1), Duration{1});
  EXPECT_EQ(from_seconds_up(-0.000'000'9), Duration{0});
}

TEST(Time, StopsAtTheLongestSpanInBothDirections) {
  for (const double far : {1e300, kInfinity, kNotANumber}) {
    EXPECT_EQ(from_seconds(far), kLongest);
    EXPECT_EQ(from_seconds_up(far), kLongest);
  }
  for (const double far : {-1e300, -kInfinity}) {
    EXPECT_EQ(from_seconds(far), -kLongest);
    EXPECT_EQ(from_seconds_up(far), -kLongest);
  }
}

TEST(Time, ReadsBackTheSecondsItWasGiven) {
  EXPECT_DOUBLE_EQ(to_seconds(from_seconds(12.25)), 12.25);
  EXPECT_DOUBLE_EQ(to_seconds(at_seconds(86'400.0)), 86'400.0);
}

TEST(Time, AddsWithoutLeavingNever) {
  EXPECT_EQ(later(at_seconds(1), from_seconds(2)), at_seconds(3));
  EXPECT_EQ(later(kNever, from_seconds(1)), kNever);
  EXPECT_EQ(later(at_seconds(1), kLongest), kNever);
  EXPECT_EQ(later(Instant{kLongest}, kLongest - Duration{1}),
            Instant{kLongest + kLongest - Duration{1}});
}

}  // namespace
}  // namespace rubato
