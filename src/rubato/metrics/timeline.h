// A run over time in even bins: the lines of the charts.
#pragma once

#include <cstddef>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/metrics/history.h"

namespace rubato {

/// [from, to) cut into `count` bins of equal length.
struct Bins {
  Instant from{};
  Instant to{};
  std::size_t count = 1;

  /// Where bin `index` starts; edge(count) is `to`.
  [[nodiscard]] Instant edge(std::size_t index) const;
};

/// GPU time in use over GPU time up in each bin; stops with the bin in which the run ends.
[[nodiscard]] std::vector<double> utilization_over_time(const History& history, const Bins& bins);

/// Deadlines that have come, and how many of them were met.
struct DeadlineCount {
  long due = 0;
  long met = 0;

  friend bool operator==(const DeadlineCount&, const DeadlineCount&) = default;
};

/// Counts at the end of each bin: a deadline counts from the moment it comes, met or not. The last
/// bin also takes in all later ones.
[[nodiscard]] std::vector<DeadlineCount> deadlines_over_time(const History& history,
                                                             const Bins& bins);

}  // namespace rubato
