// Optimus (Peng et al., EuroSys'18): each further GPU to the job it saves the most time.
//
// Section 4.1: every job gets one worker, in order of arrival; then, as long as GPUs are left and
// anyone gains, the next one goes to the job whose remaining time falls the most. Section 4.2: jobs
// whose share changed are placed smallest first, on the emptiest nodes (emptiest_nodes.h).
//
// Differences from the paper: no parameter servers (workers reduce among themselves), so a task is
// always a worker; remaining work and speed are known from the job and the speed book instead of
// being fitted to its losses and to ten trial runs, which is the variant "Optimus+Oracle" of Pollux
// (OSDI'21); a job that gains nothing from one more GPU gets none even if two more would help, as
// in both. The paper's rule of the greatest gain for workers and servers is in task_greed.h.
//
// As in both nothing dampens changes: jobs that gain almost equally take turns with the last GPUs,
// since who has one more soon gains less from it. With 60 s rounds, as in Pollux's simulator, long
// jobs so change hundreds of times; `interval=600` is the paper's round.
#pragma once

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::optimus {

struct OptimusOptions {
  Duration interval{};  // Between two rounds; zero: the slot.
};

[[nodiscard]] std::unique_ptr<Policy> make_optimus(const OptimusOptions& options);

/// `interval=0` seconds.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_optimus(const PolicyOptions& options);

[[nodiscard]] PolicyInfo optimus_policy();

}  // namespace rubato::policy::optimus
