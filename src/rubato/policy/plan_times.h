// Moments and pauses that plans are made of.
#pragma once

#include "rubato/base/time.h"
#include "rubato/core/job.h"
#include "rubato/predict/resize_cost.h"

namespace rubato {

/// The first moment of the grid of slots that is not before this one.
[[nodiscard]] Instant on_grid(Instant moment, Duration slot);

/// The pause of starting or resizing, as far as it can be foreseen.
[[nodiscard]] Duration foreseen_pause(const ResizeCost& costs, const Job& job, int from, int to);

}  // namespace rubato
