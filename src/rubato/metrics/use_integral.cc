#include "rubato/metrics/use_integral.h"

#include <algorithm>
#include <cstddef>

namespace rubato {
namespace {

// `sum` and `seconds` more in the state of one sample.
UseSum extended(UseSum sum, const UseSample& sample, double seconds) {
  sum.gpu_seconds_used += seconds * sample.gpus_used;
  sum.gpu_seconds_up += seconds * sample.gpus_up;
  sum.active_seconds += seconds * (sample.running + sample.waiting);
  if (sample.gpus_up > 0) {
    sum.efficiency_seconds += seconds * sample.speedup / sample.gpus_up;
    sum.up_seconds += seconds;
  }
  return sum;
}

}  // namespace

UseIntegral::UseIntegral(std::span<const UseSample> samples) : samples_(samples) {
  before_.reserve(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    before_.push_back(i == 0 ? UseSum{}
                             : extended(before_.back(), samples[i - 1],
                                        to_seconds(samples[i].at - samples[i - 1].at)));
  }
}

UseSum UseIntegral::over(Instant from, Instant to) const {
  return samples_.empty() || to <= from ? UseSum{} : until(to) - until(from);
}

// From the first sample on; negative for moments before it, so that differences come out right.
UseSum UseIntegral::until(Instant moment) const {
  const auto after = std::ranges::upper_bound(samples_, moment, {}, &UseSample::at);
  if (after == samples_.begin()) {
    const UseSample& first = samples_.front();
    return extended({}, {.at = moment, .gpus_up = first.gpus_up}, to_seconds(moment - first.at));
  }
  const auto here = static_cast<std::size_t>(after - samples_.begin()) - 1;
  return extended(before_[here], samples_[here], to_seconds(moment - samples_[here].at));
}

}  // namespace rubato
