// Finish-time fairness (Themis, NSDI 2020, section 3.1): how much later a job finished than it
// would have with an equal share of the cluster.
//
//   rho     = T_shared / T_ideal
//   T_shared = finish - arrival
//   T_ideal  = run time on a 1/N share of the cluster, N the mean number of active jobs in its life
//
// A share is G / N GPUs, G the mean number of GPUs up in its life. A job asked for r GPUs, on which
// it runs for requested_seconds; a smaller share is given to it as all r GPUs for that part of the
// time, a larger one is of no use to it:
//
//   T_ideal = requested_seconds * max(1, r * N / G)
//
// Differences from Themis: N counts jobs (running + waiting samples), not apps, and is at least 1;
// there is no placement term, since requested_seconds already is a run time on real GPUs. rho below
// 1 means better than an equal share, which elastic policies reach by giving more than r GPUs.
#pragma once

#include "rubato/metrics/history.h"
#include "rubato/metrics/use_integral.h"

namespace rubato {

/// rho of a finished job; 0 if it did not finish, its requested_seconds is unknown or no GPU was
/// up.
[[nodiscard]] double finish_time_fairness(const JobRecord& job, const UseIntegral& use);

}  // namespace rubato
