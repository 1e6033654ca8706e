// AFS-L: elastic sharing for mean completion time when run times are known.
//
// Hwang et al., NSDI'21, AFS-L: everyone gets one GPU, shortest first, until all are used; what is
// left goes out by the pair rule (pair_rule.h). Shares are decided anew at each arrival and
// completion.
//
// Differences: (1) by default a share is a factor or a multiple of a node's GPUs and grows block by
// block, compared by gain per GPU added (`packing=off` takes every measured count); (2) ties and
// the scan go by arrival, then id, since the rule is not transitive; (3) everyone gets the smallest
// count before anyone gets more, which is what the rule does by itself unless a job scales better
// than linearly or needs several GPUs to start; (4) `ageing` is ours: under overload AFS-L starves
// long jobs, and with ageing a job counts as that many seconds shorter for each second it waited;
// (5) a cluster of several pools is shared out pool by pool (home_pool.h).
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::afs {

struct AfsLOptions {
  bool packs = true;
  double ageing = 0;  // Seconds of length forgiven for each second of waiting; 0: never.
};

[[nodiscard]] std::unique_ptr<Policy> make_afs_l(AfsLOptions options);

/// `packing=on`, `ageing=0`.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_afs_l(const PolicyOptions& options);

[[nodiscard]] PolicyInfo afs_l_policy();

}  // namespace rubato::policy::afs
