#include "rubato/predict/scattered_points.h"

#include <algorithm>
#include <cmath>

#include "rubato/base/check.h"
#include "rubato/solve/linear_program.h"

namespace rubato {
namespace {

double squared_distance(const std::array<double, 3>& left, const std::array<double, 3>& right) {
  double sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    sum += (left[i] - right[i]) * (left[i] - right[i]);
  }
  return sum;
}

}  // namespace

std::optional<std::array<double, 2>> ScatteredPoints::at(
    const std::array<double, 3>& position) const {
  // Measured from the position, so that numbers are small near it.
  LinearProgram program(Goal::Minimise);
  std::array<std::vector<Term>, 4> rows;
  for (const ScatteredPoint& point : points_) {
    const std::size_t part = program.add({.worth = squared_distance(point.at, position)});
    for (std::size_t i = 0; i < position.size(); ++i) {
      rows[i].push_back({.variable = part, .factor = point.at[i] - position[i]});
    }
    rows[3].push_back({.variable = part, .factor = 1});
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    program.add_row(rows[i], Relation::Equal, i == 3 ? 1 : 0);
  }
  const Solution solution = solve(program);
  if (!solution.has_values()) {
    return std::nullopt;
  }
  std::array<double, 2> value{};
  for (std::size_t i = 0; i < points_.size(); ++i) {
    value[0] += solution.values[i] * points_[i].value[0];
    value[1] += solution.values[i] * points_[i].value[1];
  }
  return value;
}

std::array<double, 2> ScatteredPoints::nearest(const std::array<double, 3>& position) const {
  RUBATO_CHECK(!points_.empty());
  return std::ranges::min_element(
             points_, {},
             [&](const ScatteredPoint& point) { return squared_distance(point.at, position); })
      ->value;
}

}  // namespace rubato
