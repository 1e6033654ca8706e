// Gavel with the objective of least attained service: time on mixed GPU types, shared evenly.
//
// Narayanan et al., OSDI'20, section 4.1: maximise the least speed over what an equal share of all
// GPU types would give, weighted and scaled by the job's GPUs, so that jobs get equally much GPU
// time. The linear program is in time_fractions.h, the rounds of six minutes in priority_rounds.h,
// each with its differences. Here jobs of one kind (same speeds, GPUs and weight) are one row of
// the program, which changes nothing and keeps it small: its size does not grow with their number.
//
// Equal time is not a short completion time: once jobs queue, `srtf`, which knows run times, is
// ahead even where stopping costs nothing. Made by `rubato trace generate --jobs 300 --seed 1
// --cluster 4x8 --load 4 -o t.jsonl`, `rubato sim --trace t.jsonl --cluster 4x8 --overhead none
// --policy gavel-las,srtf` gives 41.5 and 37.2 thousand seconds on average. GPU types that a job
// was not measured on do not help it either.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/gavel/priority_rounds.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::gavel {

[[nodiscard]] std::unique_ptr<Policy> make_gavel_las(PriorityRoundsOptions options);

/// `round=360,half_life=3600`, both in seconds.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_gavel_las(const PolicyOptions& options);

[[nodiscard]] PolicyInfo gavel_las_policy();

}  // namespace rubato::policy::gavel
