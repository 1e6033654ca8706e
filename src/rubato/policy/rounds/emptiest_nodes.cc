#include "rubato/policy/rounds/emptiest_nodes.h"

#include <algorithm>
#include <map>

#include "rubato/base/check.h"

namespace rubato::policy::rounds {

EmptiestNodes::EmptiestNodes(const View& view, PoolId pool, const std::vector<JobId>& leaving) {
  std::map<NodeId, int> free;
  for (const NodeId id : view.topology.pool(pool).nodes) {
    free[id] = view.is_up(id) ? view.topology.node(id).gpus : 0;
  }
  view.jobs.for_each([&](const JobState& job) {
    if (job.share == 0 || job.pool() != pool || std::ranges::binary_search(leaving, job.id())) {
      return;
    }
    for (const NodeShare& share : view.topology.nodes_of(job.placement)) {
      free[share.node] -= share.workers;
    }
  });
  for (const auto& [id, gpus] : free) {
    if (gpus > 0) {
      by_free_.emplace(-gpus, id);
    }
  }
}

std::vector<NodeShare> EmptiestNodes::take(int workers) {
  std::vector<NodeShare> taken;
  while (workers > 0) {
    RUBATO_CHECK(!by_free_.empty());
    const auto [negated, node] = *by_free_.begin();
    by_free_.erase(by_free_.begin());
    const int here = std::min(workers, -negated);
    taken.push_back({.node = node, .workers = here});
    workers -= here;
    if (here < -negated) {
      by_free_.emplace(negated + here, node);
    }
  }
  return taken;
}

}  // namespace rubato::policy::rounds
