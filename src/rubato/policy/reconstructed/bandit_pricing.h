// Prices learnt from sales: an offer to each arriving job, and the fewest nodes for those who buy.
//
// After "Dynamic pricing and placing for distributed machine learning jobs: an online learning
// approach" (JSAC'23), of which only the abstract was at hand; the rest is ours. Each arrival is
// offered a unit price, chosen by a bandit (price_bandit.h), times the GPU time it is expected to
// use; its owner accepts or leaves. Accepted jobs wait in one line per pool and run to their end on
// the GPUs they asked for: on the node where fewest stay free, else on as few nodes as possible.
//
// Expected times are corrected by what jobs of the same kind needed before, apart for those in one
// node and those in several. The reward of an offer comes when the job is over: the profit per hour
// over the most it could have been, times the part of the larger of expected and used GPU time that
// was used (the paper's common R_max would make small jobs worth nothing); zero if it was declined.
// Jobs never pay for a failure: the price was fixed when it was accepted.
#pragma once

#include <cstdint>
#include <memory>

#include "rubato/base/result.h"
#include "rubato/policy/policy_info.h"

namespace rubato::policy::reconstructed {

struct BanditPricingOptions {
  double price_min = 0.001;  // Per GPU hour, in the unit of the jobs' values.
  double price_max = 1;
  int arms = 8;
  double cost = 0;             // What a GPU hour costs the provider; less than price_max.
  std::int64_t supply = 0;     // Jobs to sell in all; zero: no limit.
  std::int64_t buyers = 1000;  // Arrivals to expect, if the supply is limited.
};

[[nodiscard]] std::unique_ptr<Policy> make_bandit_pricing(BanditPricingOptions options);

/// `price_min=0.001,price_max=1,arms=8,cost=0,supply=0,buyers=1000`.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_bandit_pricing(const PolicyOptions& options);

[[nodiscard]] PolicyInfo bandit_pricing_policy();

}  // namespace rubato::policy::reconstructed
