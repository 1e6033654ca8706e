// Time fractions under which the greatest ratio of finish to fair finish is least.
#pragma once

#include <span>
#include <vector>

#include "rubato/policy/gavel/time_fractions.h"

namespace rubato::policy::gavel {

/// One job, times in seconds.
struct Finisher {
  std::vector<double> speeds{};  // Per pool, steps per second; 0: cannot run there.
  std::vector<int> gpus{};       // Per pool, while it runs.
  double elapsed = 0;            // Since arrival.
  double work = 0;               // Steps left.
  double fair_so_far = 0;        // What the steps done would have taken on a fair share.
};

/// Speed on one n-th of each pool, no more than all the time.
[[nodiscard]] double fair_speed(const Finisher& finisher, std::size_t finishers,
                                std::span<const int> capacity);

struct FairFinish {
  double ratio = 0;  // The greatest over all jobs.
  std::vector<std::vector<double>> fractions{};
};

[[nodiscard]] FairFinish fairest_finish(std::span<const Finisher> finishers,
                                        std::span<const int> capacity);

}  // namespace rubato::policy::gavel
