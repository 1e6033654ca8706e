// The cluster's use added up over time, so that the use of any span costs one binary search.
#pragma once

#include <span>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/metrics/history.h"

namespace rubato {

/// Integrals over some span, in seconds times the quantity's own unit.
struct UseSum {
  double gpu_seconds_used = 0;
  double gpu_seconds_up = 0;
  double efficiency_seconds = 0;  // Of speedup / gpus_up, where any GPU is up.
  double up_seconds = 0;          // While any GPU is up.
  double active_seconds = 0;      // Of running + waiting jobs.

  friend UseSum operator-(const UseSum& left, const UseSum& right) {
    return {.gpu_seconds_used = left.gpu_seconds_used - right.gpu_seconds_used,
            .gpu_seconds_up = left.gpu_seconds_up - right.gpu_seconds_up,
            .efficiency_seconds = left.efficiency_seconds - right.efficiency_seconds,
            .up_seconds = left.up_seconds - right.up_seconds,
            .active_seconds = left.active_seconds - right.active_seconds};
  }
};

/// Each sample holds until the next one, the last one for ever. Before the first one nothing is in
/// use and as many GPUs are up as in the first.
class UseIntegral {
 public:
  /// Keeps a view: `samples` must outlive it and rise in time.
  explicit UseIntegral(std::span<const UseSample> samples);

  /// Over [from, to); zero if `to` is not after `from`.
  [[nodiscard]] UseSum over(Instant from, Instant to) const;

 private:
  [[nodiscard]] UseSum until(Instant moment) const;

  std::span<const UseSample> samples_;
  std::vector<UseSum> before_;  // From the first sample up to each sample.
};

}  // namespace rubato
