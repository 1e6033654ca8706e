// Shockwave: plans the next twenty rounds so that everyone progresses, nobody is late, all end
// soon.
//
// Zheng et al., NSDI'23, and its published code. Rounds of two minutes; the program of
// window_plan.h says which of the next rounds each job gets. A job should finish within rho_max
// times its fair finish, a running average over estimates made at each arrival and completion (0.9
// of the time-weighted mean and 0.1 of the last); if that cannot be for all, late jobs get a weight
// of their ratio to the power of lambda instead. A plan holds until jobs come or go, or it is used
// up. Idle GPUs go to the jobs with the most time left. Time left is expected over the paces that
// reports have shown (mode_posterior.h).
//
// Differences: the fair finish is counted from arrival, and with gangs the fair share is all GPUs
// over all GPUs asked for. A job that would end inside the window is in time if it can be when it
// runs throughout. The published code solves a second program for the order of rounds; here the
// latest jobs come first. Each pool is planned by itself, for the jobs whose own it is; at most
// `jobs_max` of them, the latest, enter the program. Planning happens at the round that follows an
// event. The default of rho_max is ours.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::shockwave {

struct ShockwaveOptions {
  Duration round = from_seconds(120);
  int rounds = 20;  // Planned ahead.
  double k = 1e-3;  // Worth of a second less of the longest time left.
  double lambda = 5;
  double rho_max = 1.1;
  int jobs_max = 100;  // In one program.
};

[[nodiscard]] std::unique_ptr<Policy> make_shockwave(ShockwaveOptions options);

/// `round=120` in seconds, `rounds=20`, `k=0.001`, `lambda=5`, `rho_max=1.1`, `jobs_max=100`.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_shockwave(const PolicyOptions& options);

[[nodiscard]] PolicyInfo shockwave_policy();

}  // namespace rubato::policy::shockwave
