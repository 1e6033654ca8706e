// The worker counts through which an elastic job may grow.
#pragma once

#include <span>
#include <vector>

#include "rubato/core/scaling_curve.h"

namespace rubato::policy::afs {

/// True if shares of this size neither split a node unevenly nor leave a part of one over.
[[nodiscard]] constexpr bool packs(int workers, int gpus_per_node) {
  return workers % gpus_per_node == 0 || gpus_per_node % workers == 0;
}

/// All points of the curve with at most `gpus_max` workers; a part of the curve itself.
[[nodiscard]] std::span<const ScalingPoint> usable_steps(const ScalingCurve& curve, int gpus_max);

/// Of these the factors and multiples of a node's GPUs; all of them if none is.
[[nodiscard]] std::vector<ScalingPoint> packed_steps(const ScalingCurve& curve, int gpus_max,
                                                     int gpus_per_node);

}  // namespace rubato::policy::afs
