#include "rubato/policy/afs/worker_steps.h"

#include <algorithm>
#include <iterator>

namespace rubato::policy::afs {

std::span<const ScalingPoint> usable_steps(const ScalingCurve& curve, int gpus_max) {
  const auto points = curve.points();
  const auto end = std::ranges::upper_bound(points, gpus_max, {}, &ScalingPoint::workers);
  return points.first(static_cast<std::size_t>(end - points.begin()));
}

std::vector<ScalingPoint> packed_steps(const ScalingCurve& curve, int gpus_max, int gpus_per_node) {
  std::vector<ScalingPoint> steps;
  const std::span<const ScalingPoint> usable = usable_steps(curve, gpus_max);
  std::ranges::copy_if(usable, std::back_inserter(steps), [&](const ScalingPoint& point) {
    return packs(point.workers, gpus_per_node);
  });
  if (steps.empty()) {
    steps.assign(usable.begin(), usable.end());
  }
  return steps;
}

}  // namespace rubato::policy::afs
