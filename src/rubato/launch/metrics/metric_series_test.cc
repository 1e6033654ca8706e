#include "rubato/launch/metrics/metric_series.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rubato::launch::metrics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(PointSeries, KeepsAllPointsUpToItsLimit) {
  PointSeries series(100);
  for (int i = 1; i <= 100; ++i) {
    ASSERT_TRUE(series.add({.sequence = static_cast<std::uint64_t>(i), .step = i, .value = 0.5}));
  }

  EXPECT_EQ(series.size(), 100);
}

TEST(PointSeries, ThinsEvenlyAndNeverDropsEndsAndExtremes) {
  PointSeries series(100);
  for (int i = 1; i <= 100'000; ++i) {
    const double value = i == 33'333 ? -7 : i == 77'777 ? 9 : i % 1000 == 0 ? kNan : 0.5;
    series.add({.sequence = static_cast<std::uint64_t>(i), .step = i, .value = value});
    ASSERT_LE(series.size(), 100);
  }
  const auto points = series.points();

  EXPECT_EQ(series.count(), 100'000);
  EXPECT_EQ(points.front().step, 1);
  EXPECT_EQ(points.back().step, 100'000);
  EXPECT_EQ(std::ranges::count(points, -7, &MetricPoint::value), 1);
  EXPECT_EQ(std::ranges::count(points, 9, &MetricPoint::value), 1);
  std::int64_t widest = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    widest = std::max(widest, points[i].step - points[i - 1].step);
  }
  EXPECT_LE(widest, 100'000 / 24);
}

TEST(PointSeries, KeepsPointsOnceAndInOrderHoweverTheyArrive) {
  PointSeries series;
  for (const std::uint64_t sequence : {5U, 7U, 6U, 5U, 1U, 7U}) {
    series.add({.sequence = sequence, .step = static_cast<std::int64_t>(sequence), .value = 0});
  }
  std::vector<std::uint64_t> found;
  for (const MetricPoint& point : series.points()) {
    found.push_back(point.sequence);
  }

  EXPECT_EQ(found, (std::vector<std::uint64_t>{1, 5, 6, 7}));
}

TEST(MetricSeries, TakesNoMoreNamesThanItsLimit) {
  MetricSeries series;
  for (std::size_t i = 0; i < kNamesMax + 10; ++i) {
    series.add({.name = fmt::format("name{}", i), .value = 0.5}, i + 1);
  }

  EXPECT_EQ(series.names().size(), kNamesMax);
  EXPECT_EQ(series.dropped(), 10);
  EXPECT_TRUE(series.add({.name = "name0", .value = 0.5}, 1000));
  EXPECT_FALSE(series.add({.name = "", .value = 0.5}, 1001));
}

TEST(MetricSeries, TellsWhatIsNewInOrderAndInParts) {
  MetricSeries series;
  for (std::uint64_t i = 1; i <= 10; ++i) {
    series.add({.name = i % 2 == 0 ? "even" : "odd", .value = 0.5}, i);
  }
  std::string told;
  const auto tell = [&](const std::string& name, const MetricPoint& point) {
    told += fmt::format("{}{} ", name, point.sequence);
  };

  const std::uint64_t first = series.visit_after(6, 3, tell);
  const std::uint64_t second = series.visit_after(first, 3, tell);

  EXPECT_EQ(told, "odd7 even8 odd9 even10 ");
  EXPECT_EQ(second, 10);
  EXPECT_EQ(series.visit_after(second, 3, tell), 10);
}

TEST(PointsByStep, HasTheNewestPointOfEachStep) {
  const auto points = points_by_step({{.sequence = 1, .step = 10, .value = 1},
                                      {.sequence = 2, .step = 20, .value = 2},
                                      {.sequence = 3, .step = 10, .value = 3},
                                      {.sequence = 4, .step = 15, .value = 4}},
                                     10);

  ASSERT_EQ(points.size(), 3);
  EXPECT_EQ(points[0].value, 3);
  EXPECT_EQ(points[1].value, 4);
  EXPECT_EQ(points[2].value, 2);
}

TEST(PointsByStep, KeepsTheShapeWithFewerPoints) {
  std::vector<MetricPoint> points;
  for (int i = 0; i < 1000; ++i) {
    const double value = i == 500 ? 100 : i == 501 ? kNan : 1;
    points.push_back({.sequence = static_cast<std::uint64_t>(i), .step = i, .value = value});
  }
  for (const std::size_t most : {1U, 2U, 3U, 4U, 5U, 50U, 999U}) {
    const auto chosen = points_by_step(points, most);

    EXPECT_LE(chosen.size(), most);
    EXPECT_EQ(chosen.back().step, 999);
    EXPECT_EQ(std::ranges::count(chosen, 100, &MetricPoint::value), most < 4 ? 0 : 1) << most;
    EXPECT_TRUE(std::ranges::is_sorted(chosen, {}, &MetricPoint::step));
  }
}

}  // namespace
}  // namespace rubato::launch::metrics
