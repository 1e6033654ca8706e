// Moments and pauses that plans are made of.
#pragma once

#include <vector>

#include "rubato/base/time.h"
#include "rubato/core/job.h"
#include "rubato/predict/resize_cost.h"

namespace rubato::policy::planning {

/// The first moment of the grid of slots that is not before this one.
[[nodiscard]] Instant on_grid(Instant moment, Duration slot);

/// `count` slots from `first` on, as their edges on the grid. With `grows` each is a little longer
/// than the one before, so that a bounded number of slots reaches far: near things are planned
/// finely, distant ones roughly.
[[nodiscard]] std::vector<Instant> slot_edges(Instant first, Duration slot, int count,
                                              Duration grid, bool grows);

/// The pause of starting or resizing, as far as it can be foreseen.
[[nodiscard]] Duration foreseen_pause(const ResizeCost& costs, const Job& job, int from, int to);

}  // namespace rubato::policy::planning
