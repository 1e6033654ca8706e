// Earliest deadline first, preemptive, each job as wide as it can use.
//
// The EDF baseline of ElasticFlow (ASPLOS'23, section 6.1) as the paper describes it. At a round
// the jobs stand in order of deadline (ties by arrival, id), best-effort jobs after all others;
// each in turn takes the fastest worker count that its speed curve has within the free GPUs.
// Whoever finds none is skipped. Nobody is refused who can run at all; late jobs keep their place.
//
// Difference from the published simulator: that one takes every profiled GPU, also past the speed
// peak; curves here end at the peak, as the paper says. With several GPU types a job takes the pool
// in which it is fastest, its present one on a tie, else the first.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::edf {

/// Takes no options.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_edf(const PolicyOptions& options);

[[nodiscard]] PolicyInfo edf_policy();

}  // namespace rubato::policy::edf
