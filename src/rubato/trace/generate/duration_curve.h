// Run times as their quantiles: what papers print, and all that drawing and averaging need.
#pragma once

#include <span>

namespace rubato {

/// `share` of the jobs run for at most `seconds`.
struct DurationPoint {
  double share = 0;    // Rising from 0 to 1.
  double seconds = 0;  // Rising, above zero.
};

/// The run time that a share `quantile` of the jobs does not exceed. Between two points the
/// logarithm is evenly spread, since run times span many orders of magnitude.
[[nodiscard]] double duration_at(std::span<const DurationPoint> curve, double quantile);

/// The exact mean of duration_at over all quantiles.
[[nodiscard]] double mean_duration(std::span<const DurationPoint> curve);

}  // namespace rubato
