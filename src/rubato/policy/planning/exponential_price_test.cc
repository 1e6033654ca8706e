#include "rubato/policy/planning/exponential_price.h"

#include <gtest/gtest.h>

namespace rubato::policy::planning {
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

TEST(PriceCurve, MakesEachUnitOfACrowdDearerThanTheOneBefore) {
  constexpr int kCapacity = 8;
  for (const PriceCurve& curve : {low_to_high(1, 16), from_zero(9)}) {
    for (int used = 0; used < kCapacity; ++used) {
      double expected = 0;
      for (int count = 1; used + count <= kCapacity; ++count) {
        expected += 3 * curve.at((used + count - 1.0) / kCapacity);
        const double price = 3 * curve.at(1.0 * used / kCapacity);
        EXPECT_NEAR(curve.crowded(price, 3, count, kCapacity), expected, 1e-9);
      }
    }
  }
  EXPECT_EQ(low_to_high(2, 2).crowded(2, 1, 3, 4), 6);
}

}  // namespace
}  // namespace rubato::policy::planning
