// Autoscaling: every job looks for its own size, within what the cluster has.
//
// Or, Zhang and Freedman, MLSys'20: after every so many steps a job decides by efficiency or by
// utility whether to try more or fewer workers (worker_autoscaler.h). It knows its speed only at
// counts it has visited.
//
// Differences: (1) the paper has one job; here jobs start in order of arrival on the GPUs they
// asked for, or on what is free until they can have those; nobody is shrunk for another, and nobody
// grows while a job of its pool waits; decisions begin once a job has what it last wanted; (2)
// counts are those the job may have at multiples of `spawn` (all of them if none is one); counts
// that are known not to be faster than a smaller one are left out; (3) speed is that of the speed
// book times what was measured, not a mean over step times; (4) U is the job's value function,
// which never falls below zero; (5) once a job has settled by efficiency it is not asked again
// until its speed changes; (6) stragglers are not replaced here.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/autoscale/worker_autoscaler.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::autoscale {

struct AutoscaleOptions {
  bool by_utility = false;
  double efficiency = 0.1;  // S.
  double price = 0.0001;    // Of one GPU for one second, in the unit of value.
  int spawn = 1;            // Workers that come or go at once.
  double every = 100;       // Steps between two decisions of a job.
  AutoscaleSearch search{};
};

[[nodiscard]] std::unique_ptr<Policy> make_autoscale(const AutoscaleOptions& options);

/// `metric=efficiency|utility`, `efficiency=0.1`, `price=0.0001` (per GPU-s), `spawn=1`,
/// `every=100` (steps), `measured=100` (steps).
[[nodiscard]] Result<std::unique_ptr<Policy>> make_autoscale(const PolicyOptions& options);

[[nodiscard]] PolicyInfo autoscale_policy();

}  // namespace rubato::policy::autoscale
