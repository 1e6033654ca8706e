// What a tenant is guaranteed: so many cells of each level in each pool.
//
// HiveD (OSDI'20, section 3) calls this a virtual private cluster: jobs of a tenant that stay
// within it find GPUs as if they had that cluster to themselves.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/core/topology.h"
#include "rubato/place/hived/hived_cells.h"

namespace rubato {

/// The part of every pool that a tenant is entitled to.
struct TenantPart {
  std::string name{};
  double share = 0;
};

struct VirtualCluster {
  std::string tenant{};
  std::vector<std::vector<int>> cells{};  // By pool, then by level, lowest first.

  friend bool operator==(const VirtualCluster&, const VirtualCluster&) = default;
};

/// The cells of each pool of the empty cluster.
[[nodiscard]] std::vector<HivedCells> cells_of(const Topology& topology);

/// GPUs of its cells in one pool.
[[nodiscard]] int gpus_of(const VirtualCluster& cluster, const HivedCells& cells, PoolId pool);

/// Each tenant's share of each pool, rounded down to whole GPUs and made of cells as large as
/// possible up to a node. They always fit: each size divides the next, so nothing is lost.
[[nodiscard]] std::vector<VirtualCluster> clusters_by_share(std::span<const TenantPart> tenants,
                                                            const Topology& topology);

/// `research:2x8+1x2/products:1x8:A100@west`: tenants separated by '/', each with its cells, number
/// times GPUs, in a pool named as in a cluster's description, the first that fits. The error names
/// the part that is wrong.
[[nodiscard]] Result<std::vector<VirtualCluster>> parse_clusters(std::string_view text,
                                                                 const Topology& topology);

/// Fails if the cluster cannot hold all these cells at once.
[[nodiscard]] Status check_clusters(std::span<const VirtualCluster> clusters,
                                    const Topology& topology);

}  // namespace rubato
