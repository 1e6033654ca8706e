#include "rubato/policy/reconstructed/tenant_reserve.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace rubato::policy::reconstructed {

using planning::SiteCapacities;

std::vector<TenantShare> tenants_of(const View& view) {
  if (!view.tenants.empty()) {
    return {view.tenants.begin(), view.tenants.end()};
  }
  std::set<std::string> names;
  view.jobs.for_each([&](const JobState& job) { names.insert(job.job.tenant); });
  std::vector<TenantShare> tenants;
  for (const std::string& name : names) {
    tenants.push_back({.name = name, .share = 1.0 / static_cast<double>(names.size())});
  }
  return tenants;
}

std::vector<SiteCapacities> reserves_of(const std::vector<TenantShare>& tenants, const Pool& pool,
                                        const Topology& topology) {
  std::vector<SiteCapacities> reserves;
  double share = 0;
  int first = 0;
  for (const TenantShare& tenant : tenants) {
    share += tenant.share;
    // The tolerance keeps shares such as 0.1 + 0.2 from losing a GPU.
    const int end = std::min(pool.gpus, static_cast<int>(std::floor(share * pool.gpus + 1e-9)));
    SiteCapacities& nodes = reserves.emplace_back();
    for (const NodeId id : pool.nodes) {
      const Node& node = topology.node(id);
      const int here = std::min(end, node.first_gpu + node.gpus) - std::max(first, node.first_gpu);
      nodes.push_back({std::max(0, here)});
    }
    first = end;
  }
  return reserves;
}

}  // namespace rubato::policy::reconstructed
