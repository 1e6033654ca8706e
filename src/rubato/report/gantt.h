// The bars of a history as rectangles over one row of GPUs, few enough to be drawn.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rubato/core/topology.h"
#include "rubato/metrics/history.h"

namespace rubato {

/// GPUs [first, first + count) of the whole cluster, pool after pool, held by one job in [from,
/// to).
struct GanttRect {
  JobId job{};
  Instant from{};
  Instant to{};
  int first = 0;
  int count = 0;

  friend bool operator==(const GanttRect&, const GanttRect&) = default;
};

struct Gantt {
  std::vector<GanttRect> rects{};  // By (from, first).
  std::size_t left_out = 0;        // Rectangles dropped, the ones with the least GPU time first.
};

/// Number of the first GPU of each pool, when pools are laid side by side.
[[nodiscard]] std::vector<int> pool_offsets(const Topology& topology);

/// Joins bars of a job that follow each other on the same GPUs, then keeps the `rects_max` largest.
[[nodiscard]] Gantt gantt_rects(std::span<const GanttBar> bars, const Topology& topology,
                                std::size_t rects_max);

}  // namespace rubato
