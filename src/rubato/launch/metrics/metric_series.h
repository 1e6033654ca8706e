// The metrics of one job, bounded however long it trains and however much it says.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/launch/metrics/metric.h"

namespace rubato::launch::metrics {

/// One value. Sequence numbers rise over the whole life of a job, so that a point that is told
/// twice is known.
struct MetricPoint {
  std::uint64_t sequence = 0;
  std::int64_t step = 0;
  double value = 0;
};

/// The points of one name, by sequence number. When there are too many, every second is dropped,
/// but never the first, the last, the lowest and the highest; from then on every second of the new
/// ones is dropped as well, so that the whole life of a job is told equally densely.
class PointSeries {
 public:
  explicit PointSeries(std::size_t points_max = kPointsMax);

  /// False if a point of this sequence number is there already.
  bool add(const MetricPoint& point);

  [[nodiscard]] std::vector<MetricPoint> points() const;
  /// How many were ever added.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::size_t size() const { return kept_.size(); }

 private:
  struct Kept {
    MetricPoint point{};
    std::uint64_t index = 0;  // How many were added before it.
  };

  void thin();
  void drop_between(std::uint64_t stride);

  std::size_t points_max_;
  std::uint64_t stride_ = 1;
  std::uint64_t count_ = 0;
  std::vector<Kept> kept_{};
};

/// One series per name.
class MetricSeries {
 public:
  explicit MetricSeries(std::size_t points_max = kPointsMax) : points_max_(points_max) {}

  /// The metric must be clean (see metric.h). False if it was not taken: it is known already, has
  /// no name, or there are too many names.
  bool add(const Metric& metric, std::uint64_t sequence);

  [[nodiscard]] const std::map<std::string, PointSeries, std::less<>>& names() const {
    return names_;
  }
  /// Metrics that were not taken because there are too many names.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  /// Of all names; zero: none yet.
  [[nodiscard]] std::uint64_t last_sequence() const { return last_sequence_; }
  [[nodiscard]] std::size_t size() const;

  /// Calls `visit` with what came after a sequence number, in order, at most `points_max` points.
  /// Returns the sequence number of the last.
  std::uint64_t visit_after(
      std::uint64_t sequence, std::size_t points_max,
      const std::function<void(const std::string& name, const MetricPoint& point)>& visit) const;

 private:
  std::size_t points_max_;
  std::map<std::string, PointSeries, std::less<>> names_{};
  std::uint64_t dropped_ = 0;
  std::uint64_t last_sequence_ = 0;
};

/// The points by step, one for each: the one that was told last, since steps that were lost are
/// trained again. At most `points_max`, chosen so that the shape stays.
[[nodiscard]] std::vector<MetricPoint> points_by_step(std::vector<MetricPoint> points,
                                                      std::size_t points_max);

}  // namespace rubato::launch::metrics
