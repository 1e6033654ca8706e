// How long jobs stand still at a round, under each of the accountings.
#pragma once

#include <set>

#include "rubato/base/time.h"
#include "rubato/core/ids.h"
#include "rubato/engine/state/command.h"
#include "rubato/engine/state/state.h"
#include "rubato/policy/policy.h"
#include "rubato/predict/resize_cost.h"

namespace rubato {

/// The pause of a job that was just given its new GPUs. Under the artifact's accounting they are
/// remembered as a group.
[[nodiscard]] Duration pause_of(EngineState& state, const JobState& job, const ShareChange& change,
                                ArtifactCharge charge);

/// The longest a job can stand still for being moved, other GPUs in the same number.
[[nodiscard]] Duration move_pause(const EngineState& state, const JobState& job);

/// Under the artifact's accounting the unchanged jobs stop as well, if the policy is charged every
/// round. Walks all running jobs.
void stall_unchanged(EngineState& state, ArtifactCharge charge, const std::set<JobId>& changed,
                     Commands& commands);

}  // namespace rubato
