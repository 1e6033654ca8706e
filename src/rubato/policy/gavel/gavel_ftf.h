// Gavel with the objective of finish-time fairness: nobody much later than on a cluster of its own.
//
// Narayanan et al., OSDI'20, section 4.2, after Themis: minimise the greatest ratio of the expected
// finish (time since arrival, and work left at the speed of the fractions) to the finish on one
// n-th of the cluster (time the work so far would have taken there, and work left at that speed).
//
// The ratio is not linear. From any ratio r that can be reached, the program of time_fractions.h
// finds the fractions that exceed by the most the speeds that r asks for; the ratio they reach is
// the next r, until it no longer falls. The paper solves the same as one convex program.
//
// Difference: on clusters of several pools only the `jobs_max` jobs that are worst off now enter
// the program; the others take what is left. Rounds: see priority_rounds.h.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/gavel/priority_rounds.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::gavel {

struct GavelFtfOptions {
  PriorityRoundsOptions rounds{};
  int jobs_max = 150;  // In one program.
};

[[nodiscard]] std::unique_ptr<Policy> make_gavel_ftf(GavelFtfOptions options);

/// `round=360,half_life=3600` in seconds, `jobs_max=150`.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_gavel_ftf(const PolicyOptions& options);

[[nodiscard]] PolicyInfo gavel_ftf_policy();

}  // namespace rubato::policy::gavel
