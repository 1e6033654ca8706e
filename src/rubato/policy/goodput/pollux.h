// Pollux (Qiao et al., OSDI'21): workers and batch sizes chosen together, for goodput and fairness.
//
// Section 4.2: at each round the power mean (exponent p, -1 by default) of all jobs' speedups is
// maximised, where the speedup of a job is its goodput (predict/goodput.h) relative to that with a
// fair share of the GPUs, and less if it would have to restart. Jobs adapt their batch to the
// workers they get, and are fitted online (predict/goodput_book.h); nobody gets more than twice the
// workers it was ever seen with.
//
// Differences from the paper and its simulator:
// - The search is exact instead of genetic: shares are powers of two inside a node and whole nodes
//   beyond, which makes the round a multiple-choice knapsack (knapsack.h). No two jobs that span
//   nodes share one, which is the paper's avoidance of interference.
// - A job that keeps its share keeps its GPUs, unless the placer has to move it for another.
// - The fair share is taken to lie in one node, however large, as in their code.
// - With several GPU types a job stays in one pool; newcomers go where there are most GPUs per job.
// - Jobs whose batch cannot adapt are judged by their speed curve.
#pragma once

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::goodput {

struct PolluxOptions {
  double p = -1;         // Of the power mean; the lower, the fairer. Not 0.
  int workers_max = 64;  // Of one job.
};

[[nodiscard]] std::unique_ptr<Policy> make_pollux(const PolluxOptions& options);

/// `p=-1`, `max=64` workers.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_pollux(const PolicyOptions& options);

[[nodiscard]] PolicyInfo pollux_policy();

}  // namespace rubato::policy::goodput
