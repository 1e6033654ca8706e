// Earliest deadline first with admission control: whoever is admitted is promised its deadline.
//
// The EDF+AC baseline of ElasticFlow (ASPLOS'23, section 6.4), capped at the speed peak. On arrival
// all promised jobs and the new one are planned forward in order of deadline: each takes, as early
// as possible, the fastest counts that the plans of earlier deadlines leave free (forward_plan.h).
// If everyone ends in time, the job is admitted and the plans replace the old ones. If not, the job
// is tried in what the present plans leave free; if that fails, too, it is refused.
//
// Differences from the published simulator, for promises that are really kept: all pauses are part
// of the plans; jobs are decided one by one; plans are replaced only by plans that keep all
// promises, except after a fault, when jobs that can no longer be in time go behind all others.
// All plans change at multiples of the slot after one moment (under the artifact's accounting of a
// minute at least), so that planned rounds are never too close to each other. Jobs without a hard
// deadline get no promise and no plan: at each round they take what is left over, in order of
// deadline, best effort last.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::edf {

/// Takes no options.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_edf_ac(const PolicyOptions& options);

[[nodiscard]] PolicyInfo edf_ac_policy();

}  // namespace rubato::policy::edf
