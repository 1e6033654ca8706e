// Gives every tenant a virtual cluster of its own on shared machines.
//
// HiveD (OSDI'20): jobs that are guaranteed something run on cells of their tenant's virtual
// cluster and find them as they would alone; all others run on whatever is idle, far from bound
// cells, and are sent away when an owner needs its GPUs. Differences: the paper schedules pods into
// cells level by level, here a job may use any GPUs of its tenant's cells; what jobs of low
// priority get among each other is the policy's business, not weighted max-min; wishes for certain
// nodes are not heard, and jobs are not moved to make room.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rubato/place/hived/hived_pool.h"
#include "rubato/place/hived/virtual_cluster.h"
#include "rubato/place/placer.h"

namespace rubato {

/// A tenant without a virtual cluster has only jobs of low priority; a cluster with an empty name
/// serves everybody. The cluster must be able to hold all virtual ones.
class HivedPlacer final : public Placer {
 public:
  HivedPlacer(const Topology& topology, const std::vector<VirtualCluster>& clusters);

  [[nodiscard]] std::optional<Placement> place(const PlaceRequest& request) override;
  void release(JobId job) override;
  [[nodiscard]] std::vector<Move> make_room(const PlaceRequest& /*request*/,
                                            std::span<const JobId> /*movable*/) override {
    return {};
  }
  [[nodiscard]] std::vector<JobId> preempt(const PlaceRequest& request) override;
  [[nodiscard]] std::vector<TenantQuota> quotas() const override { return quotas_; }
  void set_node(NodeId node, bool up) override;

  [[nodiscard]] const Placement* find(JobId job) const override;
  [[nodiscard]] int free_gpus(PoolId pool) const override;
  /// The jobs that are guaranteed something, with their clusters, and the cells that are lent.
  [[nodiscard]] std::vector<std::int64_t> memory() const override;
  [[nodiscard]] Status take_over(std::span<const HeldGpus> held,
                                 std::span<const std::int64_t> memory) override;

 private:
  static constexpr int kNobody = -1;  // Jobs of low priority belong to no cluster.

  struct Held {
    Placement placement{};
    int cluster = kNobody;
  };
  struct Home {
    PoolId pool{};
    int number = 0;  // Of the node inside its pool.
  };

  [[nodiscard]] int cluster_of(const PlaceRequest& request) const;
  [[nodiscard]] std::optional<GpuRanges> add(const PlaceRequest& request, int gpus,
                                             std::span<const GpuRange> own);
  void give_back(const Held& held, std::span<const GpuRange> gpus);

  std::vector<TenantQuota> quotas_;  // By cluster.
  std::vector<HivedPool> pools_;
  std::vector<Home> homes_;               // By node.
  std::unordered_map<JobId, Held> held_;  // Walked only where order does not matter.
};

}  // namespace rubato
