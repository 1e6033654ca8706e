// Which share of the time each job should run in each pool, so that the worst-off is best off.
//
// The linear program at the heart of Gavel (Narayanan et al., OSDI'20, sections 3 and 4): maximise
// the least sum over pools of gain times fraction, where no job runs more than all the time and no
// pool hands out more GPUs than it has.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rubato/solve/linear_program.h"

namespace rubato::policy::gavel {

/// Jobs with the same gains and widths; they get the same fractions.
struct Claim {
  int jobs = 1;
  std::vector<double> gains{};  // Per pool: worth of running there all the time; 0: cannot.
  std::vector<int> gpus{};      // Per pool: how many GPUs one of the jobs holds while it runs.
};

struct TimeFractions {
  double least = 0;                             // The sum of gains of the worst-off.
  std::vector<std::vector<double>> of_claim{};  // Per claim and pool, in [0, 1].
};

/// Every claim has a pool with a positive gain, and GPUs in it. In one pool the answer is a
/// formula. With more, it is a program of as many columns as claims times pools. Should the limits
/// strike, pools are shared out as if there were no others.
[[nodiscard]] TimeFractions max_min_fractions(std::span<const Claim> claims,
                                              std::span<const int> capacity,
                                              const SolveLimits& limits = {});

}  // namespace rubato::policy::gavel
