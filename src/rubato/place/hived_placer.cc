#include "rubato/place/hived_placer.h"

#include <algorithm>
#include <utility>

#include "rubato/base/check.h"

namespace rubato {

HivedPlacer::HivedPlacer(const Topology& topology, const std::vector<VirtualCluster>& clusters)
    : homes_(topology.nodes().size()) {
  RUBATO_CHECK(check_clusters(clusters, topology).ok());
  const std::vector<HivedCells> cells = cells_of(topology);
  for (const VirtualCluster& cluster : clusters) {
    TenantQuota quota{.tenant = cluster.tenant};
    for (const Pool& pool : topology.pools()) {
      quota.gpus.push_back(gpus_of(cluster, cells[pool.id.value], pool.id));
    }
    quotas_.push_back(std::move(quota));
  }
  for (const Pool& pool : topology.pools()) {
    std::vector<std::vector<int>> quotas;
    for (const VirtualCluster& cluster : clusters) {
      quotas.push_back(cluster.cells.at(pool.id.value));
    }
    pools_.emplace_back(topology, pool.id, std::move(quotas));
    for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
      homes_[pool.nodes[i].value] = {.pool = pool.id, .number = static_cast<int>(i)};
    }
  }
}

int HivedPlacer::cluster_of(const PlaceRequest& request) const {
  if (!request.is_guaranteed) {
    return kNobody;
  }
  const auto found = std::ranges::find_if(quotas_, [&](const TenantQuota& quota) {
    return quota.tenant == request.tenant || quota.tenant.empty();
  });
  return found == quotas_.end() ? kNobody : static_cast<int>(found - quotas_.begin());
}

// So many GPUs beside `own`; nothing if there are not enough, or somebody must go first.
std::optional<GpuRanges> HivedPlacer::add(const PlaceRequest& request, int gpus,
                                          std::span<const GpuRange> own) {
  HivedPool& pool = pools_.at(request.pool.value);
  const int cluster = cluster_of(request);
  if (cluster == kNobody) {
    return pool.borrow(request.job, gpus, own);
  }
  auto claim = pool.claim(cluster, gpus, own);
  if (claim && !claim->in_the_way.empty()) {
    pool.give_back(cluster, claim->gpus);
    return std::nullopt;
  }
  return claim ? std::optional(std::move(claim->gpus)) : std::nullopt;
}

void HivedPlacer::give_back(const Held& held, std::span<const GpuRange> gpus) {
  HivedPool& pool = pools_.at(held.placement.pool.value);
  held.cluster == kNobody ? pool.give_back(gpus) : pool.give_back(held.cluster, gpus);
}

std::optional<Placement> HivedPlacer::place(const PlaceRequest& request) {
  RUBATO_CHECK(request.workers > 0);
  if (!request.nodes.empty()) {
    return std::nullopt;
  }
  const int cluster = cluster_of(request);
  const auto found = held_.find(request.job);
  const bool stays = found != held_.end() && found->second.placement.pool == request.pool &&
                     found->second.cluster == cluster;
  const GpuRanges own = stays ? found->second.placement.ranges : GpuRanges{};
  Held after{.placement = {.pool = request.pool, .ranges = own}, .cluster = cluster};
  if (const int more = request.workers - total(own); more > 0) {
    auto added = add(request, more, own);
    if (!added) {
      return std::nullopt;
    }
    after.placement.ranges = joined(own, *added);
  } else if (more < 0) {
    after.placement.ranges = pools_.at(request.pool.value).part_to_keep(own, request.workers);
    give_back(after, without(own, after.placement.ranges));
  }
  if (!stays) {
    release(request.job);
  }
  return (held_[request.job] = std::move(after)).placement;
}

void HivedPlacer::release(JobId job) {
  const auto found = held_.find(job);
  if (found != held_.end()) {
    give_back(found->second, found->second.placement.ranges);
    held_.erase(found);
  }
}

std::vector<JobId> HivedPlacer::preempt(const PlaceRequest& request) {
  const int cluster = cluster_of(request);
  const Placement* own = find(request.job);
  const bool stays =
      own != nullptr && own->pool == request.pool && held_.at(request.job).cluster == cluster;
  const GpuRanges near = stays ? own->ranges : GpuRanges{};
  std::vector<JobId> gone;
  if (cluster == kNobody || request.workers <= total(near)) {
    return gone;
  }
  HivedPool& pool = pools_.at(request.pool.value);
  while (true) {
    const auto claim = pool.claim(cluster, request.workers - total(near), near);
    if (!claim) {
      return gone;
    }
    pool.give_back(cluster, claim->gpus);
    if (claim->in_the_way.empty()) {
      return gone;
    }
    for (const JobId job : claim->in_the_way) {
      release(job);
      gone.push_back(job);
    }
  }
}

void HivedPlacer::set_node(NodeId node, bool up) {
  const Home& home = homes_.at(node.value);
  pools_.at(home.pool.value).set_node(home.number, up);
}

const Placement* HivedPlacer::find(JobId job) const {
  const auto found = held_.find(job);
  return found == held_.end() ? nullptr : &found->second.placement;
}

int HivedPlacer::free_gpus(PoolId pool) const { return pools_.at(pool.value).idle(); }

}  // namespace rubato
