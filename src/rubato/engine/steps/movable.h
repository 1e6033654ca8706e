// Who may be moved out of another's way.
#pragma once

#include <vector>

#include "rubato/core/ids.h"
#include "rubato/engine/state/state.h"

namespace rubato {

/// Running jobs of a pool that promised nothing, or would keep their promise though they stand
/// still for the time of a move; sorted. Walks all jobs.
[[nodiscard]] std::vector<JobId> movable_jobs(const EngineState& state, PoolId pool);

}  // namespace rubato
