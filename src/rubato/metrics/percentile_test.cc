#include "rubato/metrics/percentile.h"

#include <algorithm>
#include <rapidcheck.h>
#include <vector>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(Percentile, IsTheNearestRank) {
  const std::vector<double> five{15, 20, 35, 40, 50};

  EXPECT_EQ(percentile(five, 1), 15);
  EXPECT_EQ(percentile(five, 20), 15);
  EXPECT_EQ(percentile(five, 21), 20);
  EXPECT_EQ(percentile(five, 50), 35);
  EXPECT_EQ(percentile(five, 99), 50);
  EXPECT_EQ(percentile(five, 100), 50);
}

TEST(Percentile, OfAHundredIsExact) {
  std::vector<double> hundred;
  for (int i = 1; i <= 100; ++i) {
    hundred.push_back(i);
  }

  for (int percent = 1; percent <= 100; ++percent) {
    EXPECT_EQ(percentile(hundred, percent), percent);
  }
}

TEST(Percentile, OfNothingIsZero) {
  EXPECT_EQ(percentile({}, 50), 0);
  EXPECT_EQ(mean({}), 0);
}

TEST(Percentile, RisesWithThePercentAndIsASample) {
  EXPECT_TRUE(rc::check([](std::vector<double> samples) {
    RC_PRE(!samples.empty());
    std::ranges::sort(samples);
    double before = samples.front();
    for (int percent = 1; percent <= 100; ++percent) {
      const double here = percentile(samples, percent);
      RC_ASSERT(here >= before);
      const auto covered = std::ranges::count_if(samples, [&](double s) { return s <= here; });
      RC_ASSERT(static_cast<std::size_t>(covered) * 100 >=
                static_cast<std::size_t>(percent) * samples.size());
      RC_ASSERT(std::ranges::binary_search(samples, here));
      before = here;
    }
  }));
}

}  // namespace
}  // namespace rubato
