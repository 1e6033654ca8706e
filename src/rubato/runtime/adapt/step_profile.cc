#include "rubato/runtime/adapt/step_profile.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rubato {
namespace {

// Moves a mean of `steps` values, the newest of which is the value.
void move_mean(double& mean, double value, std::uint64_t steps) {
  mean += (value - mean) / static_cast<double>(steps);
}

}  // namespace

void StepProfile::add(const StepShape& shape, const StepSeconds& seconds) {
  const bool is_other = shape != std::exchange(last_, shape);
  const bool is_first = std::exchange(skips_next_, false) || is_other;
  if (is_first || !(seconds.total > 0) || !std::isfinite(seconds.total)) {
    return;
  }
  auto found = std::ranges::lower_bound(shapes_, shape, {}, &ShapeProfile::shape);
  if (found == shapes_.end() || found->shape != shape) {
    found = shapes_.insert(found, ShapeProfile{.shape = shape});
  }
  ++found->steps;
  move_mean(found->mean.total, seconds.total, found->steps);
  move_mean(found->mean.compute, seconds.compute, found->steps);
  move_mean(found->mean.communication, seconds.communication, found->steps);
  move_mean(found->mean.data_wait, seconds.data_wait, found->steps);
}

const ShapeProfile* StepProfile::find(const StepShape& shape) const {
  const auto found = std::ranges::lower_bound(shapes_, shape, {}, &ShapeProfile::shape);
  return found != shapes_.end() && found->shape == shape ? &*found : nullptr;
}

}  // namespace rubato
