// Shortest remaining time first, preemptive, on the GPUs each job asked for.
//
// The classic lower bound for mean completion time on one machine; for gangs a heuristic, and an
// oracle, since it knows run times. Exactly: at a round all jobs stand in order of run time left
// (work left over speed on its gang, while it waits that of the pool in which it is fastest; ties
// by arrival, id). Each in turn runs in the first pool in which its GPUs are still free, its
// present one ahead of all, then the faster ones; else it is skipped, and stopped if it was
// running.
//
// Run time left of a running job is what it had left when it last started, less the time since:
// pauses count as run time, so that a job that has just paid for its start is not sent away by one
// that has not. Rounds follow events; between them nobody who waits can overtake.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::baseline {

/// Takes no options.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_srtf(const PolicyOptions& options);

[[nodiscard]] PolicyInfo srtf_policy();

}  // namespace rubato::policy::baseline
