// One pool shared by virtual clusters: which cells are lent to whom, and who uses which GPU.
//
// A virtual cluster owns numbers of cells, not certain ones; a cell is bound to it when one of its
// guaranteed jobs first needs it and freed when none does any more. Jobs of low priority use any
// GPU that is idle, bound or not, and have to go when its owner needs it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "rubato/core/topology.h"
#include "rubato/place/hived/hived_cells.h"
#include "rubato/place/pool/gpu_ranges.h"

namespace rubato {

/// Clusters are numbered as in `quotas`. Placing walks the pool's nodes and the cluster's cells.
class HivedPool {
 public:
  /// GPUs that a guaranteed job was given, and the jobs of low priority that still sit on them.
  struct Claim {
    GpuRanges gpus{};
    std::vector<JobId> in_the_way{};  // Sorted.
  };

  /// `quotas`: for each cluster the number of cells of each level, lowest first.
  HivedPool(const Topology& topology, PoolId pool, std::vector<std::vector<int>> quotas);

  /// So many GPUs of the cluster's cells, close together and with few jobs in the way; near `own`
  /// if that has any. Nothing, and nothing changed, if the quota or what is up has too few left.
  [[nodiscard]] std::optional<Claim> claim(int cluster, int gpus, std::span<const GpuRange> own);
  void give_back(int cluster, std::span<const GpuRange> gpus);

  /// So many idle GPUs for a job of low priority, as far from bound cells as they are.
  [[nodiscard]] std::optional<GpuRanges> borrow(JobId job, int gpus, std::span<const GpuRange> own);
  void give_back(std::span<const GpuRange> borrowed);

  /// The part of `own` to go on with after a shrink: in the fewest nodes. Changes nothing.
  [[nodiscard]] GpuRanges part_to_keep(std::span<const GpuRange> own, int gpus) const;

  /// A cell that is lent to a cluster.
  struct Lent {
    int cluster = 0;
    int level = 0;
    int first = 0;
  };
  [[nodiscard]] std::vector<Lent> lent() const;

  // These build up again what another pool held; false if that cannot have been. Cells come first.
  [[nodiscard]] bool lend_again(const Lent& cell);
  [[nodiscard]] bool claim_again(int cluster, std::span<const GpuRange> gpus);
  void borrow_again(JobId job, std::span<const GpuRange> gpus);
  /// True if each cell that was lent is in use.
  [[nodiscard]] bool is_settled() const;

  /// Nobody may be on a node that goes down.
  void set_node(int number, bool up);

  [[nodiscard]] int idle() const;

 private:
  struct Bound {
    int level = 0;
    GpuRange gpus{};
    int used = 0;
  };
  struct Gpu {
    bool is_up = true;
    bool is_claimed = false;
    bool is_bound = false;
    std::optional<JobId> borrower{};

    [[nodiscard]] bool is_idle() const { return is_up && !is_claimed && !borrower; }
    [[nodiscard]] bool can_be_claimed() const { return is_up && !is_claimed; }
  };
  struct Cluster {
    std::vector<int> quota{};  // Cells by level.
    std::vector<int> bound_count{};
    std::vector<Bound> bound{};  // By first GPU.
  };

  [[nodiscard]] int count(const GpuRange& range, bool (Gpu::*is)() const) const;
  [[nodiscard]] int node_at(int gpu) const;
  [[nodiscard]] bool is_near(const GpuRange& cell, std::span<const GpuRange> own) const;
  [[nodiscard]] Bound* fullest(Cluster& cluster, int gpus, std::span<const GpuRange> own);
  [[nodiscard]] Bound* emptiest(Cluster& cluster);
  [[nodiscard]] Bound* bind_for(Cluster& cluster, int gpus);
  [[nodiscard]] Bound* bind(Cluster& cluster, int level);
  Bound& enter(Cluster& cluster, int level, const GpuRange& cell);
  void unbind_unused(Cluster& cluster);
  void claim_from(Bound& cell, int gpus, Claim& claim);
  void borrow_from(int node, int gpus, GpuRanges& into) const;

  HivedCells cells_;
  std::vector<Cluster> clusters_;
  std::vector<GpuRange> nodes_;
  std::vector<Gpu> gpus_;
};

}  // namespace rubato
