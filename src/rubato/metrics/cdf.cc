#include "rubato/metrics/cdf.h"

#include "rubato/base/check.h"

namespace rubato {

std::vector<std::size_t> thinned_indices(std::size_t count, std::size_t kept_max) {
  RUBATO_CHECK(kept_max >= 2);
  const std::size_t kept = count < kept_max ? count : kept_max;
  std::vector<std::size_t> indices;
  indices.reserve(kept);
  for (std::size_t i = 0; i < kept; ++i) {
    indices.push_back(kept == 1 ? 0 : i * (count - 1) / (kept - 1));
  }
  return indices;
}

std::vector<CdfPoint> cdf(std::span<const double> sorted, std::size_t points_max) {
  // Equal samples are one step of the curve: its top is the point.
  std::vector<CdfPoint> steps;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i + 1 == sorted.size() || sorted[i + 1] > sorted[i]) {
      steps.push_back({.value = sorted[i],
                       .share = static_cast<double>(i + 1) / static_cast<double>(sorted.size())});
    }
  }
  std::vector<CdfPoint> points;
  for (const std::size_t index : thinned_indices(steps.size(), points_max)) {
    points.push_back(steps[index]);
  }
  return points;
}

}  // namespace rubato
