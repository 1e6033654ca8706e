// Themis: GPUs on lease, auctioned among the jobs that are treated worst.
//
// After Mahajan et al., NSDI'20, sections 3 to 5. A job's ratio is the time it will have taken,
// from arrival to finish, over its ideal: the time on the GPUs it asks for times the average number
// of jobs that were active meanwhile. Whenever leases end or GPUs fall free, those GPUs are
// auctioned among the jobs without a lease whose ratio is worst, a fraction 1-f of them. A bid is
// the inverse ratio for each number of GPUs up to those asked for; partial_allocation.h decides and
// takes its hidden payment. What is left goes to the jobs outside the auction.
//
// Differences: each job is an app of its own. A number of GPUs stands for all placements of it: the
// placer sees to closeness. Getting nothing is valued as waiting for one lease and then running on
// all GPUs asked for, since an inverse ratio of zero would make every hidden payment total as soon
// as there are more jobs than GPUs. What is left is not given at random but to the worst ratio
// first, outside the auction and then inside it, also in other pools than the job's own. A job that
// holds a lease does not bid for more. Auctions are at least a slot apart.
#pragma once

#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::themis {

struct ThemisOptions {
  Duration lease = from_seconds(1200);
  double filter = 0.8;   // The paper's f: the share of jobs that are not asked to bid.
  int bidders_max = 64;  // In one auction.
};

[[nodiscard]] std::unique_ptr<Policy> make_themis(ThemisOptions options);

/// `lease=1200` in seconds, `filter=0.8`, `bidders_max=64`.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_themis(const PolicyOptions& options);

[[nodiscard]] PolicyInfo themis_policy();

}  // namespace rubato::policy::themis
