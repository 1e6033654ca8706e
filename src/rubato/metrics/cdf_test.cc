#include "rubato/metrics/cdf.h"

#include <algorithm>
#include <cmath>
#include <rapidcheck.h>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(Cdf, StepsAtEverySample) {
  const std::vector<double> samples{1, 2, 2, 5};

  const std::vector<CdfPoint> expected{{1, 0.25}, {2, 0.75}, {5, 1}};

  EXPECT_EQ(cdf(samples), expected);
  EXPECT_TRUE(cdf({}).empty());
}

TEST(Cdf, ThinsEvenlyAndKeepsBothEnds) {
  EXPECT_EQ(thinned_indices(5, 3), (std::vector<std::size_t>{0, 2, 4}));
  EXPECT_EQ(thinned_indices(3, 200), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(thinned_indices(1, 2), (std::vector<std::size_t>{0}));
  EXPECT_TRUE(thinned_indices(0, 2).empty());
}

TEST(Cdf, RisesIsShortAndKeepsTheEndsForAllSamples) {
  EXPECT_TRUE(rc::check([](std::vector<int> numbers) {
    RC_PRE(!numbers.empty());
    std::vector<double> samples(numbers.begin(), numbers.end());
    std::ranges::sort(samples);
    const auto points_max = *rc::gen::inRange<std::size_t>(2, 20);

    const auto points = cdf(samples, points_max);

    RC_ASSERT(points.size() <= points_max);
    RC_ASSERT(points.front().value == samples.front());
    RC_ASSERT(points.back() == (CdfPoint{samples.back(), 1}));
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto covered =
          std::ranges::count_if(samples, [&](double s) { return s <= points[i].value; });
      RC_ASSERT(std::abs(points[i].share * static_cast<double>(samples.size()) -
                         static_cast<double>(covered)) < 1e-6);
      if (i > 0) {
        RC_ASSERT(points[i - 1].value < points[i].value);
        RC_ASSERT(points[i - 1].share < points[i].share);
      }
    }
  }));
}

}  // namespace
}  // namespace rubato
