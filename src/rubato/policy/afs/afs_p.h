// AFS-P: elastic sharing for mean completion time when run times are unknown.
//
// Hwang et al., NSDI'21, AFS-P. With room for everyone each job gets one GPU and the rest goes out
// by the pair rule where it gives the same answer whichever job is shorter (pair_rule.h), else by a
// fair coin. Without room jobs take turns of one quantum on one GPU each (quantum_turns.h).
//
// Differences: (1) packed counts, scan order and pools as in afs_l.h; (2) the coin of a pair is
// thrown from the two ids and their present shares, so that runs repeat and nobody is resized only
// because it fell otherwise this time; (3) jobs take turns when their smallest counts do not all
// fit, which for jobs that start on one GPU is when there are more jobs than GPUs; the authors'
// simulator begins one job earlier, with the same shares; (4) of those without a quantum
// who has waited longest is next. The authors' order, fewest turns first, is `turns=fewest`: under
// a lasting stream of short newcomers it starves all others, which AFS-P is not meant to do.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/afs/quantum_turns.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::afs {

struct AfsPOptions {
  bool packs = true;
  QuantumOptions turns{};
};

[[nodiscard]] std::unique_ptr<Policy> make_afs_p(AfsPOptions options);

/// `packing=on`, `quantum=7200` (s), `turns=longest_wait|fewest`.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_afs_p(const PolicyOptions& options);

[[nodiscard]] PolicyInfo afs_p_policy();

}  // namespace rubato::policy::afs
