#include "rubato/core/scaling_curve.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

using Points = std::vector<ScalingPoint>;

Points points_of(const ScalingCurve& curve) {
  return {curve.points().begin(), curve.points().end()};
}

TEST(ScalingCurve, KeepsOnlyCountsThatAreFasterThanAllSmallerOnes) {
  const ScalingCurve curve(Points{{8, 3}, {1, 1}, {4, 3.5}, {2, 2}, {16, 3.5}});

  EXPECT_EQ(points_of(curve), (Points{{1, 1}, {2, 2}, {4, 3.5}}));
  EXPECT_EQ(curve.smallest(), (ScalingPoint{1, 1}));
  EXPECT_EQ(curve.peak(), (ScalingPoint{4, 3.5}));
}

TEST(ScalingCurve, KeepsTheFasterOfTwoMeasurementsOfOneCount) {
  EXPECT_EQ(points_of(ScalingCurve(Points{{2, 1}, {2, 3}, {2, 2}})), (Points{{2, 3}}));
}

TEST(ScalingCurve, DropsPointsThatAreNoMeasurement) {
  constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const ScalingCurve curve(Points{
      {0, 1}, {-1, 1}, {1, 0}, {2, -1}, {3, kNotANumber}, {4, kInfinity}, {5, -kInfinity}, {6, 1}});

  EXPECT_EQ(points_of(curve), (Points{{6, 1}}));
}

TEST(ScalingCurve, SortsAroundAnyNumberOfPointsThatAreNotNumbers) {
  Random random(1);
  Points points;
  for (int workers = 1; workers <= 200; ++workers) {
    points.push_back({workers, static_cast<double>(workers)});
    points.push_back({workers, std::numeric_limits<double>::quiet_NaN()});
  }
  for (std::size_t i = points.size() - 1; i > 0; --i) {
    std::swap(points[i], points[static_cast<std::size_t>(random.integer(0, static_cast<int>(i)))]);
  }

  EXPECT_EQ(ScalingCurve(points).points().size(), 200U);
}

TEST(ScalingCurve, KnowsTheSpeedOfCountsThatAreNotWorthUsing) {
  const ScalingCurve curve({{1, 2.0}, {2, 1.5}, {4, 3.0}, {8, 2.5}});

  EXPECT_EQ(curve.points().size(), 2U);
  EXPECT_DOUBLE_EQ(curve.speed(2), 1.5);
  EXPECT_DOUBLE_EQ(curve.speed(3), 2.25);
  EXPECT_DOUBLE_EQ(curve.speed(8), 2.5);
  EXPECT_DOUBLE_EQ(curve.speed(16), 2.5);
}

TEST(ScalingCurve, ReadsSpeedsBetweenBelowAndBeyondThePoints) {
  const ScalingCurve curve(Points{{2, 2}, {4, 3}});

  EXPECT_DOUBLE_EQ(curve.speed(2), 2);
  EXPECT_DOUBLE_EQ(curve.speed(3), 2.5);
  EXPECT_DOUBLE_EQ(curve.speed(1), 1);
  EXPECT_DOUBLE_EQ(curve.speed(100), 3);
  EXPECT_DOUBLE_EQ(curve.speed(0), 0);
  EXPECT_DOUBLE_EQ(curve.speed(-1), 0);
}

TEST(ScalingCurve, NeverOffersMoreWorkersForLessSpeed) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    Points points;
    for (int i = 0; i < 10; ++i) {
      points.push_back({static_cast<int>(random.integer(-1, 40)), random.uniform(-1, 10)});
    }
    const ScalingCurve curve(points);
    for (int workers = 0; workers < 50; ++workers) {
      const ScalingPoint best = curve.best_within(workers);
      ASSERT_LE(best.speed, curve.best_within(workers + 1).speed) << "seed " << seed;
      ASSERT_DOUBLE_EQ(best.speed, curve.speed(best.workers)) << "seed " << seed;
      ASSERT_LE(curve.speed(workers), curve.empty() ? 0 : curve.peak().speed) << "seed " << seed;
    }
  }
}

TEST(ScalingCurve, WalksFromPointToPoint) {
  const ScalingCurve curve(Points{{2, 2}, {4, 3}});
  constexpr ScalingPoint kNone{};

  EXPECT_EQ(curve.best_within(1), kNone);
  EXPECT_EQ(curve.best_within(3), (ScalingPoint{2, 2}));
  EXPECT_EQ(curve.best_within(9), (ScalingPoint{4, 3}));
  EXPECT_EQ(curve.next_above(0), (ScalingPoint{2, 2}));
  EXPECT_EQ(curve.next_above(2), (ScalingPoint{4, 3}));
  EXPECT_EQ(curve.next_above(4), kNone);
  EXPECT_EQ(curve.next_below(9), (ScalingPoint{4, 3}));
  EXPECT_EQ(curve.next_below(4), (ScalingPoint{2, 2}));
  EXPECT_EQ(curve.next_below(2), kNone);
}

TEST(ScalingCurve, IsEmptyAndStillWithoutPoints) {
  const ScalingCurve curve;

  EXPECT_TRUE(curve.empty());
  EXPECT_DOUBLE_EQ(curve.speed(8), 0);
  EXPECT_EQ(curve.best_within(8), ScalingPoint{});
  EXPECT_EQ(curve.next_above(0), ScalingPoint{});
}

TEST(Provenance, HasWords) {
  EXPECT_EQ(to_string(Provenance::Measured), "measured");
  EXPECT_EQ(to_string(Provenance::Modelled), "modelled");
  EXPECT_EQ(to_string(Provenance::Assumed), "assumed");
}

}  // namespace
}  // namespace rubato
