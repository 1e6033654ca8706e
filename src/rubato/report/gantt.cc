#include "rubato/report/gantt.h"

#include <algorithm>
#include <tuple>

namespace rubato {
namespace {

// By (job, from), with neighbours on the same GPUs joined.
std::vector<GanttBar> joined(std::span<const GanttBar> bars) {
  std::vector<GanttBar> sorted(bars.begin(), bars.end());
  std::ranges::sort(sorted, {},
                    [](const GanttBar& bar) { return std::tuple(bar.job, bar.from, bar.to); });
  std::vector<GanttBar> kept;
  for (GanttBar& bar : sorted) {
    if (!kept.empty() && kept.back().job == bar.job && kept.back().to == bar.from &&
        kept.back().placement == bar.placement) {
      kept.back().to = bar.to;
    } else if (bar.to > bar.from) {
      kept.push_back(std::move(bar));
    }
  }
  return kept;
}

double gpu_seconds(const GanttRect& rect) { return to_seconds(rect.to - rect.from) * rect.count; }

}  // namespace

std::vector<int> pool_offsets(const Topology& topology) {
  std::vector<int> offsets;
  int next = 0;
  for (const Pool& pool : topology.pools()) {
    offsets.push_back(next);
    next += pool.gpus;
  }
  return offsets;
}

Gantt gantt_rects(std::span<const GanttBar> bars, const Topology& topology, std::size_t rects_max) {
  const std::vector<int> offsets = pool_offsets(topology);
  Gantt gantt;
  for (const GanttBar& bar : joined(bars)) {
    for (const GpuRange& range : bar.placement.ranges) {
      gantt.rects.push_back({.job = bar.job,
                             .from = bar.from,
                             .to = bar.to,
                             .first = offsets.at(bar.placement.pool.value) + range.first,
                             .count = range.count});
    }
  }
  const auto place = [](const GanttRect& rect) {
    return std::tuple(rect.from, rect.first, rect.job);
  };
  if (gantt.rects.size() > rects_max) {
    gantt.left_out = gantt.rects.size() - rects_max;
    std::ranges::sort(gantt.rects, std::ranges::greater{}, [&](const GanttRect& rect) {
      return std::tuple(gpu_seconds(rect), place(rect));
    });
    gantt.rects.resize(rects_max);
  }
  std::ranges::sort(gantt.rects, {}, place);
  return gantt;
}

}  // namespace rubato
