// Speed of one kind of job against its number of workers, up to the peak and no further.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace rubato {

/// Where a curve comes from: printed wherever the curve decides something.
enum class Provenance {
  Measured,
  Modelled,  // Fitted to measurements.
  Assumed,   // Nobody measured: a cautious guess from the trace's own numbers.
};

[[nodiscard]] std::string_view to_string(Provenance provenance);

struct ScalingPoint {
  int workers = 0;
  double speed = 0;  // Steps per second.

  friend bool operator==(const ScalingPoint&, const ScalingPoint&) = default;
};

/// The worker counts worth using, rising in workers and in speed; the last one is the peak.
///
/// A count that is not faster than every smaller one is not among the points, so a policy that
/// walks them can never pass the peak. Its speed is known all the same, for jobs that insist on it.
class ScalingCurve {
 public:
  ScalingCurve() = default;
  /// Points in any order; those with a non-positive count or speed are dropped.
  explicit ScalingCurve(std::vector<ScalingPoint> points);

  [[nodiscard]] bool empty() const { return points_.empty(); }
  [[nodiscard]] std::span<const ScalingPoint> points() const { return points_; }
  [[nodiscard]] const ScalingPoint& smallest() const { return points_.front(); }
  [[nodiscard]] const ScalingPoint& peak() const { return points_.back(); }

  /// Speed at any count: as measured, between two measurements the chord, below the first its
  /// proportional part, beyond the last no more than that: nothing promises returns nobody
  /// measured.
  [[nodiscard]] double speed(int workers) const;

  /// The fastest point with at most this many workers; {0, 0} if there is none.
  [[nodiscard]] ScalingPoint best_within(int workers) const;
  /// The next point with more workers; {0, 0} at and beyond the peak.
  [[nodiscard]] ScalingPoint next_above(int workers) const;
  /// The next point with fewer workers; {0, 0} at and below the smallest.
  [[nodiscard]] ScalingPoint next_below(int workers) const;

  friend bool operator==(const ScalingCurve&, const ScalingCurve&) = default;

 private:
  std::vector<ScalingPoint> measured_;  // Rising in workers.
  std::vector<ScalingPoint> points_;
};

}  // namespace rubato
