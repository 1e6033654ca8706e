#include "rubato/core/scaling_curve.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rubato {

std::string_view to_string(Provenance provenance) {
  switch (provenance) {
    case Provenance::Measured:
      return "measured";
    case Provenance::Modelled:
      return "modelled";
    case Provenance::Assumed:
      return "assumed";
  }
  return "?";
}

ScalingCurve::ScalingCurve(std::vector<ScalingPoint> points) {
  // First of all, since what is not a number cannot be sorted.
  std::erase_if(points, [](const ScalingPoint& point) {
    return point.workers <= 0 || !std::isfinite(point.speed) || point.speed <= 0;
  });
  // Fastest first among equal counts, so that the later duplicate is the one that is dropped.
  std::ranges::sort(points, [](const ScalingPoint& left, const ScalingPoint& right) {
    return std::pair(left.workers, -left.speed) < std::pair(right.workers, -right.speed);
  });
  for (const ScalingPoint& point : points) {
    if (measured_.empty() || point.workers > measured_.back().workers) {
      measured_.push_back(point);
    }
    if (points_.empty() || point.speed > points_.back().speed) {
      points_.push_back(point);
    }
  }
}

double ScalingCurve::speed(int workers) const {
  if (measured_.empty() || workers <= 0) {
    return 0;
  }
  const auto above = std::ranges::lower_bound(measured_, workers, {}, &ScalingPoint::workers);
  if (above == measured_.end()) {
    return measured_.back().speed;
  }
  if (above->workers == workers) {
    return above->speed;
  }
  const ScalingPoint below = above == measured_.begin() ? ScalingPoint{} : *(above - 1);
  const double part = static_cast<double>(workers - below.workers) /
                      static_cast<double>(above->workers - below.workers);
  return below.speed + part * (above->speed - below.speed);
}

ScalingPoint ScalingCurve::best_within(int workers) const {
  const auto above = std::ranges::upper_bound(points_, workers, {}, &ScalingPoint::workers);
  return above == points_.begin() ? ScalingPoint{} : *(above - 1);
}

ScalingPoint ScalingCurve::next_above(int workers) const {
  const auto above = std::ranges::upper_bound(points_, workers, {}, &ScalingPoint::workers);
  return above == points_.end() ? ScalingPoint{} : *above;
}

ScalingPoint ScalingCurve::next_below(int workers) const {
  const auto from = std::ranges::lower_bound(points_, workers, {}, &ScalingPoint::workers);
  return from == points_.begin() ? ScalingPoint{} : *(from - 1);
}

}  // namespace rubato
