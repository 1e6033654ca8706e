#include "rubato/policy/worker_steps.h"

#include <algorithm>

namespace rubato {

std::vector<ScalingPoint> usable_steps(const ScalingCurve& curve, int gpus_max) {
  const auto points = curve.points();
  const auto end = std::ranges::upper_bound(points, gpus_max, {}, &ScalingPoint::workers);
  return {points.begin(), end};
}

std::vector<ScalingPoint> packed_steps(const ScalingCurve& curve, int gpus_max, int gpus_per_node) {
  std::vector<ScalingPoint> steps;
  for (const ScalingPoint& point : curve.points()) {
    if (point.workers <= gpus_max && packs(point.workers, gpus_per_node)) {
      steps.push_back(point);
    }
  }
  return steps.empty() ? usable_steps(curve, gpus_max) : steps;
}

}  // namespace rubato
