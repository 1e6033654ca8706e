// A measurement of the speed at each number of workers, fed with what a job's steps cost.
#pragma once

#include <optional>

#include "rubato/launch/job_timeline.h"
#include "rubato/runtime/adapt/scaling_measurement.h"

namespace rubato {

/// The number of workers that the job should shrink to now, if its last steps say so.
[[nodiscard]] std::optional<int> next_size(const ShapeRecord& recent,
                                           ScalingMeasurement& measurement);

}  // namespace rubato
