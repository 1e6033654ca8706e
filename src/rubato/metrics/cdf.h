// Cumulative distributions, thinned to as many points as a picture can show.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rubato {

/// This share of all samples does not exceed `value`.
struct CdfPoint {
  double value = 0;
  double share = 0;  // In (0, 1].

  friend bool operator==(const CdfPoint&, const CdfPoint&) = default;
};

inline constexpr std::size_t kCdfPointsMax = 200;

/// At most `points_max` (at least 2) points, rising in value and share. `sorted` rises. The
/// smallest and the largest sample are always among them; in between they are even in rank.
[[nodiscard]] std::vector<CdfPoint> cdf(std::span<const double> sorted,
                                        std::size_t points_max = kCdfPointsMax);

/// At most `kept_max` (at least 2) of the indices 0 to count - 1, rising, even, with both ends.
[[nodiscard]] std::vector<std::size_t> thinned_indices(std::size_t count, std::size_t kept_max);

}  // namespace rubato
