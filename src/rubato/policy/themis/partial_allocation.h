// The partial allocation auction: who gets how many GPUs, and how much of it they must leave.
//
// Cole, Gkatzelis and Goel (EC'13), as Themis (Mahajan et al., NSDI'20, section 4) uses it. The
// product of all values is maximised. Each bidder then keeps only the fraction by which the others'
// product is smaller for its presence: the hidden payment that makes it useless to bid untruly.
#pragma once

#include <span>
#include <vector>

namespace rubato::policy::themis {

/// What one number of GPUs is worth to a bidder.
struct Offer {
  int gpus = 0;
  double value = 0;
};

/// Offers with rising GPUs; the first is for none.
using Bid = std::vector<Offer>;

struct Award {
  int best = 0;     // GPUs in the allocation of the greatest product.
  double kept = 1;  // The fraction it may keep.
  int gpus = 0;     // The largest offer within that fraction.
};

/// Exact, in time of bidders times GPUs times offers. A value of zero counts as a very small one,
/// so that with more bidders than GPUs as many as possible get some.
[[nodiscard]] std::vector<Award> partial_allocation(std::span<const Bid> bids, int gpus);

}  // namespace rubato::policy::themis
