// Gangs: the fixed number of GPUs on which a job runs under a policy that cannot stretch jobs.
#pragma once

#include <compare>
#include <optional>
#include <vector>

#include "rubato/core/ids.h"
#include "rubato/core/job_state.h"
#include "rubato/core/reason.h"
#include "rubato/policy/view.h"

namespace rubato::policy::rounds {

/// Where a job runs and how wide.
struct Gang {
  PoolId pool{};
  int workers = 0;

  friend auto operator<=>(const Gang&, const Gang&) = default;
};

/// The GPUs the job asked for, in the first pool that knows its speed and is wide enough; if none
/// is, all GPUs of the first that knows it. Counts the job does not accept become the next one
/// below, or its smallest. Nothing if it can run nowhere. Machines that are down count as there.
[[nodiscard]] std::optional<Gang> gang_of(const JobState& job, const View& view);

/// The same in a given pool: at most all of its GPUs. Nothing if it does not know the job's speed.
[[nodiscard]] std::optional<Gang> gang_in(const JobState& job, const Pool& pool, const View& view);

/// All places where the job can run: each pool that can hold what it asked for, the one in which it
/// is fastest first, then where its data arrive first, then by number. If no pool can hold it, that
/// of gang_of() alone.
[[nodiscard]] std::vector<Gang> gangs_by_speed(const JobState& job, const View& view);

/// Why no pool can ever run the job; None if one can.
[[nodiscard]] Reason why_unrunnable(const JobState& job, const View& view);

/// Run time left on the gang, pauses left out, rounded up to the microsecond.
[[nodiscard]] Duration run_time_left(const JobState& job, const Gang& gang, const View& view);

}  // namespace rubato::policy::rounds
