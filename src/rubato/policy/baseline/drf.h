// DRF: tenants get equal, or weighted, parts of the resource they need most.
//
// Ghodsi et al., NSDI'11, algorithm 1 (dominant_share.h). Users are tenants, weights the shares
// they are entitled to (all equal if none are given; a tenant without one weighs as little as the
// least entitled). Resources are the GPUs of each pool; a task is a tenant's next job, by arrival,
// on the GPUs it asked for (gang.h), in the pool where it runs or in the first with room.
//
// Differences: (1) our jobs are not alike, so a tenant whose next job does not fit may try a later
// one, unless `strict=on`, which ends the round there, as the paper's algorithm does; (2) at each
// round everything is handed out anew, and jobs beyond their tenant's part are stopped; the paper
// waits for tasks to end, as does `preempt=off`.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::baseline {

struct DrfOptions {
  bool strict = false;
  bool preempts = true;
};

[[nodiscard]] std::unique_ptr<Policy> make_drf(DrfOptions options);

/// `strict=off`, `preempt=on`.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_drf(const PolicyOptions& options);

[[nodiscard]] PolicyInfo drf_policy();

}  // namespace rubato::policy::baseline
