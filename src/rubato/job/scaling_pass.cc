#include "rubato/job/scaling_pass.h"

namespace rubato {

std::optional<int> next_size(const ShapeRecord& recent, ScalingMeasurement& measurement) {
  std::optional<int> size;
  for (std::uint64_t i = 0; i < recent.steps; ++i) {
    if (measurement.on_step(recent.workers, recent.step_seconds()) && !measurement.is_done()) {
      size = measurement.workers_wanted();
    }
  }
  return size;
}

}  // namespace rubato
