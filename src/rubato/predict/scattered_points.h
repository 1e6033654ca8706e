// Between scattered measurements: linear interpolation over the Delaunay triangulation.
#pragma once

#include <array>
#include <optional>
#include <vector>

namespace rubato {

/// Where something was measured, and the two times that were.
struct ScatteredPoint {
  std::array<double, 3> at{};
  std::array<double, 2> value{};
};

/// Values in the convex hull of the points; nothing outside it.
///
/// The corners that surround a position are found without building the triangulation: lifted to a
/// paraboloid, the Delaunay simplex is the lowest one above the position, which a linear program
/// with four rows finds.
class ScatteredPoints {
 public:
  explicit ScatteredPoints(std::vector<ScatteredPoint> points) : points_(std::move(points)) {}

  [[nodiscard]] std::optional<std::array<double, 2>> at(
      const std::array<double, 3>& position) const;
  /// The value of the nearest point; there must be one.
  [[nodiscard]] std::array<double, 2> nearest(const std::array<double, 3>& position) const;

 private:
  std::vector<ScatteredPoint> points_;
};

}  // namespace rubato
