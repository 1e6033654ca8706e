// How long a job still takes whose pace changes between a few modes, such as batch sizes.
//
// Shockwave (Zheng et al., NSDI'23, section 4): the shares of the modes have a Dirichlet prior of
// the weight of the whole job, equally spread; each epoch seen adds one to its mode. The posterior,
// scaled to the job's epochs, less what was seen, is what is expected to come.
#pragma once

#include <algorithm>
#include <span>

namespace rubato::policy::shockwave {

struct PaceMode {
  double seconds_per_epoch = 0;
  double seen = 0;  // Epochs that ran in this mode.
};

/// Epochs may be any unit of work, steps for example.
[[nodiscard]] inline double expected_seconds_left(std::span<const PaceMode> modes, double epochs) {
  double seen = 0;
  for (const PaceMode& mode : modes) {
    seen += mode.seen;
  }
  const double prior = epochs / static_cast<double>(modes.size());
  double seconds = 0;
  for (const PaceMode& mode : modes) {
    const double expected = (prior + mode.seen) * epochs / (epochs + seen);
    seconds += std::max(0.0, expected - mode.seen) * mode.seconds_per_epoch;
  }
  return seconds;
}

}  // namespace rubato::policy::shockwave
