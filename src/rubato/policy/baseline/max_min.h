// Max-min: every job gets as many GPUs as every other, as far as it can use them.
//
// The baseline of the AFS evaluation (NSDI'21): round-robin in order of arrival, one GPU more each
// time, until all are used. It knows neither run times nor how well jobs scale. Differences: counts
// are those the job was measured with, so one more is the next of them, and the job with the fewest
// GPUs is always next; several pools are shared out one by one (home_pool.h).
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::baseline {

/// Takes no options.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_max_min(const PolicyOptions& options);

[[nodiscard]] PolicyInfo max_min_policy();

}  // namespace rubato::policy::baseline
