// A plan: how many workers a job is to have over future time.
#pragma once

#include <vector>

#include "rubato/base/time.h"
#include "rubato/core/ids.h"

namespace rubato {

/// `workers` during [from, to).
struct PlanSegment {
  Instant from{};
  Instant to{};
  int workers = 0;

  friend bool operator==(const PlanSegment&, const PlanSegment&) = default;
};

/// Segments in rising order, without overlap; between and after them the job has no workers.
struct Plan {
  PoolId pool{};
  std::vector<PlanSegment> segments{};

  [[nodiscard]] bool empty() const { return segments.empty(); }
  [[nodiscard]] Instant finish() const { return segments.empty() ? kNever : segments.back().to; }
  /// Workers planned at a moment.
  [[nodiscard]] int at(Instant moment) const {
    for (const PlanSegment& segment : segments) {
      if (segment.from <= moment && moment < segment.to) {
        return segment.workers;
      }
    }
    return 0;
  }

  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace rubato
