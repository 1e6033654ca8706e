// Shares that always find close GPUs: powers of two inside a node, whole nodes beyond.
#pragma once

#include <vector>

#include "rubato/core/topology.h"

namespace rubato::policy::goodput {

/// Workers, and the nodes they then lie on.
struct CanonicalShare {
  int workers = 0;
  int nodes = 0;
};

/// Rising, up to `workers_max` and to what is up of the pool. Jobs with such shares fit without any
/// two that span nodes meeting on one, as long as the GPUs suffice.
[[nodiscard]] std::vector<CanonicalShare> canonical_shares(const Pool& pool, int gpus_up,
                                                           int workers_max);

}  // namespace rubato::policy::goodput
