// Free GPUs node by node, handed out from the emptiest node first.
//
// The placement of the simulator published with Pollux (OSDI'21) for its baselines: a job takes
// what the emptiest node has, then the next, until it has enough. Nobody is moved to make room.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "rubato/policy/view.h"

namespace rubato::policy::rounds {

/// One pool as it will be once the jobs in `leaving` (sorted) have gone. Made in O(nodes + jobs).
class EmptiestNodes {
 public:
  EmptiestNodes(const View& view, PoolId pool, const std::vector<JobId>& leaving);

  /// There must be so many free.
  [[nodiscard]] std::vector<NodeShare> take(int workers);

 private:
  std::set<std::pair<int, NodeId>> by_free_;  // Free GPUs, negated; those without are not there.
};

}  // namespace rubato::policy::rounds
