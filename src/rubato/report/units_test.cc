#include "rubato/report/units.h"

#include <limits>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(Units, TimesTakeTheLargestUnitThatFits) {
  EXPECT_EQ(human_seconds(0), "0 s");
  EXPECT_EQ(human_seconds(0.0000004), "0.4 us");
  EXPECT_EQ(human_seconds(0.00033), "330 us");
  EXPECT_EQ(human_seconds(1), "1 s");
  EXPECT_EQ(human_seconds(59.5), "59.5 s");
  EXPECT_EQ(human_seconds(90), "1.5 min");
  EXPECT_EQ(human_seconds(7200), "2 h");
  EXPECT_EQ(human_seconds(3 * 86400), "72 h");
  EXPECT_EQ(human_seconds(20 * 86400), "20 d");
  EXPECT_EQ(human_seconds(-90), "-1.5 min");
}

TEST(Units, AColumnHasOneUnitAndOneNumberOfDecimals) {
  const Scale hours = time_scale(7200);

  EXPECT_EQ(hours.suffix, "h");
  EXPECT_EQ(hours.text(7200), "2.00");
  EXPECT_EQ(hours.text(36), "0.01");
}

TEST(Units, PercentAndPlainNumbers) {
  EXPECT_EQ(percent_scale().text(0.9815), "98.2");
  EXPECT_EQ(plain_scale(3, true).text(3), "3");
  EXPECT_EQ(plain_scale(3.5, false).text(3), "3.00");
  EXPECT_EQ(plain_scale(300.5, false).text(300.5), "300");
}

TEST(Units, NeverShowsMinusZeroOrInfinity) {
  EXPECT_EQ(percent_scale().text(-0.0000001), "0.0");
  EXPECT_EQ(plain_scale(1, true).text(std::numeric_limits<double>::infinity()), "-");
}

}  // namespace
}  // namespace rubato
