// Sia (Jayaram Subramanya et al., SOSP'23): goodput over several GPU types, one program a round.
//
// Section 3: a job may run in a few configurations, powers of two inside a node or whole nodes of
// one GPU type. Its goodput in each (predict/goodput.h), relative to its worst, less if it would
// have to restart, and raised to p, is what the configuration costs; a job without GPUs costs
// lambda. The choice of least total cost within each type's GPUs is carried out.
//
// Differences from the paper and its artifact:
// - Prices and a small integer program (priced_choice.h) in place of one large one: within a
//   percent of it, and far faster. Values are not rounded to two decimals.
// - A type on which the job was never seen is predicted from one on which it was, by the ratio of
//   the speeds on one GPU, which the speed book has for all types instead of a profiling run.
// - The restart discount uses what restarts really cost here.
// - Jobs whose batch cannot adapt are judged by their speed curves; rigid ones have one
//   configuration for each type.
#pragma once

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::goodput {

struct SiaOptions {
  double p = -0.5;       // Fairness exponent; not 0.
  double lambda = 1.1;   // What a job without GPUs costs.
  int workers_max = 64;  // Of one job.
};

[[nodiscard]] std::unique_ptr<Policy> make_sia(const SiaOptions& options);

/// `p=-0.5`, `lambda=1.1`, `max=64` workers.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_sia(const PolicyOptions& options);

[[nodiscard]] PolicyInfo sia_policy();

}  // namespace rubato::policy::goodput
