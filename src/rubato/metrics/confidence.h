// Means over seeds and how far to trust them: 95% confidence intervals by Student's t.
#pragma once

#include <span>
#include <vector>

#include "rubato/metrics/summary.h"

namespace rubato {

/// The true mean lies within mean +- half_width in 95 of 100 such experiments.
struct Interval {
  double mean = 0;
  double half_width = 0;  // 0 for fewer than two samples: nothing is known about the spread.

  friend bool operator==(const Interval&, const Interval&) = default;
};

/// The two-sided 95% quantile of Student's t; `freedom` is at least 1.
[[nodiscard]] double student_t(int freedom);

[[nodiscard]] Interval confidence_interval(std::span<const double> samples);

/// One interval for each of summary_columns(), over runs that differ only in their seed.
[[nodiscard]] std::vector<Interval> confidence_intervals(std::span<const Summary> seeds);

}  // namespace rubato
