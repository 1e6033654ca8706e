#include "rubato/predict/scattered_points.h"

#include <cmath>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato {
namespace {

using Position = std::array<double, 3>;

Position random_position(Random& random) {
  return {random.uniform(-10, 10), random.uniform(0, 5), random.uniform(0, 100)};
}

// Two linear functions of the position.
std::array<double, 2> linear(const Position& at) {
  return {1 + 2 * at[0] - 3 * at[1] + 0.5 * at[2], 7 - at[0] + 0.25 * at[1]};
}

std::vector<ScatteredPoint> linear_points(int count, Random& random) {
  std::vector<ScatteredPoint> points;
  for (int i = 0; i < count; ++i) {
    const Position at = random_position(random);
    points.push_back({.at = at, .value = linear(at)});
  }
  return points;
}

// A mean of the points with random weights, which lies inside their hull.
Position inside(const std::vector<ScatteredPoint>& points, Random& random) {
  double sum = 0;
  Position position{};
  for (const ScatteredPoint& point : points) {
    const double weight = random.exponential(1);
    sum += weight;
    for (std::size_t i = 0; i < position.size(); ++i) {
      position[i] += weight * point.at[i];
    }
  }
  for (double& each : position) {
    each /= sum;
  }
  return position;
}

/// The corners of a unit cube, worth 0 but for one corner.
ScatteredPoints cube() {
  std::vector<ScatteredPoint> points;
  for (int i = 0; i < 8; ++i) {
    points.push_back({.at = {1.0 * (i & 1), 1.0 * (i / 2 & 1), 1.0 * (i / 4 & 1)},
                      .value = {i == 7 ? 1.0 : 0.0, 1.0 * i}});
  }
  return ScatteredPoints(points);
}

TEST(ScatteredPoints, GiveALinearFunctionExactly) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    const auto points = linear_points(static_cast<int>(random.integer(4, 40)), random);
    const Position position = inside(points, random);

    const auto value = ScatteredPoints(points).at(position);

    ASSERT_TRUE(value.has_value()) << "draw " << i;
    ASSERT_NEAR((*value)[0], linear(position)[0], 1e-6) << "draw " << i;
    ASSERT_NEAR((*value)[1], linear(position)[1], 1e-6) << "draw " << i;
  }
}

TEST(ScatteredPoints, GiveBackWhatWasMeasured) {
  // Values that no linear function has: a vertex must count alone.
  Random random(2);
  for (int i = 0; i < 50; ++i) {
    std::vector<ScatteredPoint> points;
    for (int k = 0; k < 30; ++k) {
      points.push_back(
          {.at = random_position(random), .value = {random.uniform(), random.uniform()}});
    }
    const ScatteredPoints scattered(points);
    for (const ScatteredPoint& point : points) {
      const auto value = scattered.at(point.at);
      ASSERT_TRUE(value.has_value());
      ASSERT_NEAR((*value)[0], point.value[0], 1e-6);
      ASSERT_NEAR((*value)[1], point.value[1], 1e-6);
    }
  }
}

TEST(ScatteredPoints, MixOnlyTheCornersThatSurroundAPosition) {
  // On a line of three, Delaunay takes the neighbours: the far point has no say.
  const std::vector<ScatteredPoint> line = {{.at = {0, 0, 0}, .value = {0, 10}},
                                            {.at = {1, 0, 0}, .value = {4, 20}},
                                            {.at = {3, 0, 0}, .value = {100, 40}}};

  const auto value = ScatteredPoints(line).at({0.25, 0, 0});

  ASSERT_TRUE(value.has_value());
  EXPECT_NEAR((*value)[0], 1, 1e-9);
  EXPECT_NEAR((*value)[1], 12.5, 1e-9);
}

TEST(ScatteredPoints, AreNothingOutsideTheHull) {
  EXPECT_TRUE(cube().at({0.5, 0.5, 0.5}).has_value());
  EXPECT_TRUE(cube().at({1, 1, 0.5}).has_value());
  EXPECT_FALSE(cube().at({1.01, 0.5, 0.5}).has_value());
  EXPECT_FALSE(cube().at({0.5, 0.5, -0.01}).has_value());
  EXPECT_FALSE(ScatteredPoints({}).at({0, 0, 0}).has_value());
}

TEST(ScatteredPoints, AreNothingBeyondRandomHulls) {
  Random random(4);
  for (int i = 0; i < 200; ++i) {
    const auto points = linear_points(20, random);
    // Beyond the largest first coordinate there is no hull, whatever the other two are.
    Position position = inside(points, random);
    double largest = points.front().at[0];
    for (const ScatteredPoint& point : points) {
      largest = std::max(largest, point.at[0]);
    }
    position[0] = largest + 0.1;

    ASSERT_FALSE(ScatteredPoints(points).at(position).has_value()) << "draw " << i;
  }
}

TEST(ScatteredPoints, KnowTheNearest) {
  EXPECT_EQ(cube().nearest({5, 5, 5})[0], 1);
  EXPECT_EQ(cube().nearest({0.9, 0.2, 0.1})[1], 1);
  EXPECT_EQ(cube().nearest({-1, 0.6, 0})[1], 2);
}

}  // namespace
}  // namespace rubato
