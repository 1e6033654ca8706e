// How many leases a job still needs, pauses included.
#pragma once

#include "rubato/core/job_state.h"
#include "rubato/policy/chronus/lease_grid.h"
#include "rubato/policy/rounds/gang.h"
#include "rubato/policy/view.h"

namespace rubato::policy::chronus {

/// When plans are made, for one call: the first lease they may have, and the world as it is.
struct LeaseMoment {
  std::int64_t base = 0;
  const LeaseGrid& grid;
  const View& view;
};

/// The longest a job can stand still for being started or resumed.
[[nodiscard]] Duration start_pause(const JobState& job, int workers, const View& view);

/// Whole leases from the first on. If the job holds the lease before it, what it can still do
/// there counts as done. At least what the estimate of the published code says, so that its margin
/// is there; at least what the work needs with a start in each lease. One lease less is needed
/// after each full lease.
[[nodiscard]] int leases_needed(const JobState& job, const rounds::Gang& gang, bool holds_present,
                                const LeaseMoment& moment);

/// The first lease by whose beginning the job's data have arrived.
[[nodiscard]] std::int64_t first_lease(const JobState& job, PoolId pool, const LeaseGrid& grid,
                                       const View& view);

}  // namespace rubato::policy::chronus
