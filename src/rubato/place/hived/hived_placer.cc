#include "rubato/place/hived/hived_placer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "rubato/base/check.h"

namespace rubato {
namespace {

constexpr std::size_t kJobNumbers = 2;   // Job and cluster.
constexpr std::size_t kCellNumbers = 4;  // Pool, cluster, level and first GPU.

bool is_small(std::int64_t number) { return number >= 0 && number <= (1 << 30); }

Error bad_memory() {
  return bad_input("the memory of the placer hived does not fit the cluster or the jobs on it");
}

}  // namespace

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

// The number of jobs, these, and the cells.
std::vector<std::int64_t> HivedPlacer::memory() const {
  std::map<JobId, int> guaranteed;
  for (const auto& [job, held] : held_) {
    if (held.cluster != kNobody) {
      guaranteed.emplace(job, held.cluster);
    }
  }
  std::vector<std::int64_t> memory{static_cast<std::int64_t>(guaranteed.size())};
  for (const auto& [job, cluster] : guaranteed) {
    memory.insert(memory.end(), {static_cast<std::int64_t>(job.value), cluster});
  }
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    for (const HivedPool::Lent& cell : pools_[pool].lent()) {
      memory.insert(memory.end(),
                    {static_cast<std::int64_t>(pool), cell.cluster, cell.level, cell.first});
    }
  }
  return memory;
}

Status HivedPlacer::take_over(std::span<const HeldGpus> held,
                              std::span<const std::int64_t> memory) {
  const auto jobs = memory.empty() ? 0 : static_cast<std::size_t>(memory.front());
  if (memory.empty() || jobs > held.size() || memory.size() < 1 + kJobNumbers * jobs) {
    return bad_memory();
  }
  std::map<JobId, int> guaranteed;
  for (std::span rest = memory.subspan(1, kJobNumbers * jobs); !rest.empty();
       rest = rest.subspan(kJobNumbers)) {
    const JobId job{static_cast<std::uint64_t>(rest[0])};
    if (!is_small(rest[1]) || !guaranteed.emplace(job, static_cast<int>(rest[1])).second) {
      return bad_memory();
    }
  }
  std::span cells = memory.subspan(1 + kJobNumbers * jobs);
  if (cells.size() % kCellNumbers != 0 || !std::ranges::all_of(cells, is_small)) {
    return bad_memory();
  }
  for (; !cells.empty(); cells = cells.subspan(kCellNumbers)) {
    const auto pool = static_cast<std::size_t>(cells[0]);
    if (pool >= pools_.size() || !pools_[pool].lend_again({.cluster = static_cast<int>(cells[1]),
                                                           .level = static_cast<int>(cells[2]),
                                                           .first = static_cast<int>(cells[3])})) {
      return bad_memory();
    }
  }
  for (const HeldGpus& each : held) {
    HivedPool& pool = pools_.at(each.placement.pool.value);
    const auto found = guaranteed.find(each.job);
    const int cluster = found == guaranteed.end() ? kNobody : found->second;
    if (cluster == kNobody) {
      pool.borrow_again(each.job, each.placement.ranges);
    } else if (!pool.claim_again(cluster, each.placement.ranges)) {
      return bad_memory();
    }
    guaranteed.erase(each.job);
    held_.emplace(each.job, Held{.placement = each.placement, .cluster = cluster});
  }
  const bool is_whole = guaranteed.empty() && std::ranges::all_of(pools_, &HivedPool::is_settled);
  return is_whole ? ok_status() : Status(bad_memory());
}

}  // namespace rubato
