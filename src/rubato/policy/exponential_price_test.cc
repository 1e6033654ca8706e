#include "rubato/policy/exponential_price.h"

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(PriceCurve, RunsFromLowToHigh) {
  const PriceCurve price = low_to_high(1, 16);

  EXPECT_DOUBLE_EQ(price.at(0), 1);
  EXPECT_DOUBLE_EQ(price.at(0.5), 4);
  EXPECT_DOUBLE_EQ(price.at(1), 16);
}

TEST(PriceCurve, RunsFromZeroToThetaLessOne) {
  const PriceCurve price = from_zero(9);

  EXPECT_DOUBLE_EQ(price.at(0), 0);
  EXPECT_DOUBLE_EQ(price.at(0.5), 2);
  EXPECT_DOUBLE_EQ(price.at(1), 8);
}

TEST(PriceCurve, HasThePricesOfTheWorkedCaseOfAstraea) {
  EXPECT_NEAR(from_zero(37.37534).at(2.0 / 8), 1.47256, 1e-5);
  EXPECT_NEAR(from_zero(73.75067).at(1.0 / 4), 1.93050, 1e-5);
}

TEST(PriceCurve, IsFreeAsLongAsNothingIsKnown) {
  EXPECT_EQ(PriceCurve{}.at(1), 0);
  EXPECT_EQ(from_zero(1).at(1), 0);
  EXPECT_EQ(from_zero(0).at(0.5), 0);
}

}  // namespace
}  // namespace rubato
