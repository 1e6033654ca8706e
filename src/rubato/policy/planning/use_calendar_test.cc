#include "rubato/policy/planning/use_calendar.h"

#include <array>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/policy/testing/timeline_test.h"

namespace rubato::policy::planning {
namespace {

TEST(UseCalendar, KnowsTheLeastThatIsFreeInAWindow) {
  UseCalendar calendar(SiteCapacities{{2, 1}, {4, 2}});
  calendar.reserve(1, 0, between(2, 4), 3);

  EXPECT_EQ(calendar.free(1, 0, between(0, 2)), 4);
  EXPECT_EQ(calendar.free(1, 0, between(3, 9)), 1);
  EXPECT_EQ(calendar.free(1, 1, between(3, 9)), 2);
  EXPECT_EQ(calendar.free(0, 0, between(3, 9)), 2);
  EXPECT_EQ(calendar.free_of_all(0, between(0, 9)), 3);
}

TEST(UseCalendar, PricesEachMomentByItsUse) {
  UseCalendar calendar(SiteCapacities{{2}});
  const PriceCurve curve = low_to_high(1, 16);
  calendar.reserve(0, 0, between(1, 2), 1);
  calendar.reserve(0, 0, between(2, 3), 2);

  EXPECT_DOUBLE_EQ(calendar.price(0, 0, between(0, 1), curve, kSecond), 1);
  EXPECT_DOUBLE_EQ(calendar.price(0, 0, between(0, 4), curve, kSecond), 1 + 4 + 16 + 1);
  EXPECT_DOUBLE_EQ(calendar.price(0, 0, between(0.5, 1.5), curve, kSecond), 0.5 + 2);
  EXPECT_DOUBLE_EQ(calendar.price(0, 0, between(0, 4), curve, 2 * kSecond), 11);
}

TEST(UseCalendar, CanHaveOnePriceForAllSites) {
  UseCalendar calendar(SiteCapacities{{2}, {2}});
  calendar.reserve(0, 0, between(0, 1), 2);

  EXPECT_DOUBLE_EQ(calendar.price_of_all(0, between(0, 2), from_zero(9), kSecond), 2);
}

TEST(UseCalendar, SaysWhatALostSiteLeavesUncovered) {
  UseCalendar calendar(SiteCapacities{{2}});
  calendar.reserve(0, 0, between(5, 7), 1);

  calendar.set_capacity(0, 0, at_seconds(3), 0);

  EXPECT_TRUE(calendar.is_overcommitted(0, 0, between(3, 9)));
  EXPECT_FALSE(calendar.is_overcommitted(0, 0, between(3, 5)));
  EXPECT_EQ(calendar.free(0, 0, between(5, 7)), 0);
  calendar.release(0, 0, between(5, 7), 1);
  EXPECT_FALSE(calendar.is_overcommitted(0, 0, between(3, 9)));
  calendar.set_capacity(0, 0, at_seconds(3), 2);
  EXPECT_EQ(calendar.free(0, 0, between(3, 9)), 2);
}

// Against a table with one entry per second.
TEST(UseCalendar, MatchesATableOverRandomReservations) {
  constexpr std::size_t kSeconds = 12;
  constexpr int kCapacity = 5;
  const PriceCurve curve = low_to_high(0.5, 8);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    UseCalendar calendar(SiteCapacities{{kCapacity}});
    std::array<int, kSeconds> used{};
    for (int i = 0; i < 8; ++i) {
      const std::size_t from = random.next() % kSeconds;
      const std::size_t to = from + 1 + random.next() % (kSeconds - from);
      const TimeWindow window = between(static_cast<double>(from), static_cast<double>(to));
      int most = 0;
      double cost = 0;
      for (std::size_t t = from; t < to; ++t) {
        most = std::max(most, used[t]);
        cost += curve.at(static_cast<double>(used[t]) / kCapacity);
      }
      ASSERT_EQ(calendar.free(0, 0, window), kCapacity - most) << "seed " << seed;
      ASSERT_NEAR(calendar.price(0, 0, window, curve, kSecond), cost, 1e-9) << "seed " << seed;
      const auto amount = static_cast<int>(random.integer(0, kCapacity - most));
      calendar.reserve(0, 0, window, amount);
      for (std::size_t t = from; t < to; ++t) {
        used[t] += amount;
      }
    }
  }
}

}  // namespace
}  // namespace rubato::policy::planning
