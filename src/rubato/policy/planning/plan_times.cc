#include "rubato/policy/planning/plan_times.h"

namespace rubato::policy::planning {

Instant on_grid(Instant moment, Duration slot) {
  if (slot <= Duration{} || moment.time_since_epoch() > kLongest) {
    return moment;
  }
  const Duration over = moment.time_since_epoch() % slot;
  return over == Duration{} ? moment : moment + (slot - over);
}

std::vector<Instant> slot_edges(Instant first, Duration slot, int count, Duration grid,
                                bool grows) {
  constexpr double kGrowth = 1.04;
  std::vector<Instant> edges = {first};
  double length = to_seconds(slot);
  for (int i = 0; i < count && edges.back() != kNever; ++i) {
    const Instant next = on_grid(later(edges.back(), from_seconds_up(length)), grid);
    edges.push_back(next);
    length *= grows ? kGrowth : 1;
  }
  if (edges.back() == kNever) {
    edges.pop_back();
  }
  return edges;
}

Duration foreseen_pause(const ResizeCost& costs, const Job& job, int from, int to) {
  if (from == to || to == 0) {
    return Duration{};
  }
  switch (costs.accounting()) {
    case ResizeCostModel::None:
      return Duration{};
    case ResizeCostModel::Artifact:
      return costs.artifact(to, /*known_set=*/false, /*restarts=*/false);
    case ResizeCostModel::Physical:
      return costs.physical(job, {.from = from, .to = to});
  }
  return Duration{};
}

}  // namespace rubato::policy::planning
