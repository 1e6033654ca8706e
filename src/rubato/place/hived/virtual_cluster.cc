#include "rubato/place/hived/virtual_cluster.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "rubato/base/parse.h"

namespace rubato {
namespace {

constexpr double kRounding = 1e-9;  // A third of six GPUs is two.
constexpr int kCellsMax = 1'000'000;

std::vector<std::vector<int>> no_cells(std::span<const HivedCells> pools) {
  std::vector<std::vector<int>> cells;
  for (const HivedCells& each : pools) {
    cells.emplace_back(static_cast<std::size_t>(each.levels()), 0);
  }
  return cells;
}

// So many GPUs as the largest cells that do not exceed a node.
std::vector<int> cut(const HivedCells& cells, int gpus, int gpus_per_node) {
  std::vector<int> counts(static_cast<std::size_t>(cells.levels()), 0);
  for (int level = cells.levels(); level >= 1; --level) {
    if (cells.size(level) <= gpus_per_node) {
      counts[static_cast<std::size_t>(level - 1)] = gpus / cells.size(level);
      gpus %= cells.size(level);
    }
  }
  return counts;
}

// Adds one `COUNTxGPUS[:TYPE][@REGION]` to a cluster.
Status add_cells(std::string_view text, const Topology& topology, std::span<const HivedCells> pools,
                 VirtualCluster& cluster) {
  std::string_view rest = text;
  const std::string_view counts = take_until(rest, rest.find(':') < rest.find('@') ? ':' : '@');
  const bool has_type = text.find(':') < text.find('@');
  const std::string_view type = has_type ? take_until(rest, '@') : std::string_view{};
  const std::string_view region = rest;
  const std::size_t cross = std::min(counts.find('x'), counts.size());
  const auto number = parse_int(counts.substr(0, cross)).value_or(0);
  const auto gpus = parse_int(counts.substr(std::min(cross + 1, counts.size()))).value_or(0);
  if (number < 1 || number > kCellsMax || gpus < 1 || gpus > kCellsMax) {
    return bad_input(fmt::format("virtual cluster '{}': '{}' is not COUNTxGPUS[:TYPE][@REGION]",
                                 cluster.tenant, text));
  }
  for (const Pool& pool : topology.pools()) {
    const HivedCells& cells = pools[pool.id.value];
    const int level = cells.level_of(static_cast<int>(gpus));
    if (level > 0 && (type.empty() || pool.gpu_type == type) &&
        (region.empty() ||
         topology.regions()[static_cast<std::size_t>(pool.region)].name == region)) {
      cluster.cells[pool.id.value][static_cast<std::size_t>(level - 1)] += static_cast<int>(number);
      return ok_status();
    }
  }
  return bad_input(
      fmt::format("virtual cluster '{}': no pool has cells for '{}'", cluster.tenant, text));
}

}  // namespace

std::vector<HivedCells> cells_of(const Topology& topology) {
  std::vector<HivedCells> cells;
  for (const Pool& pool : topology.pools()) {
    cells.push_back(HivedCells::of(topology, pool.id));
  }
  return cells;
}

int gpus_of(const VirtualCluster& cluster, const HivedCells& cells, PoolId pool) {
  int gpus = 0;
  for (int level = 1; level <= cells.levels(); ++level) {
    gpus += cluster.cells.at(pool.value)[static_cast<std::size_t>(level - 1)] * cells.size(level);
  }
  return gpus;
}

std::vector<VirtualCluster> clusters_by_share(std::span<const TenantPart> tenants,
                                              const Topology& topology) {
  const std::vector<HivedCells> pools = cells_of(topology);
  std::vector<VirtualCluster> clusters;
  for (const TenantPart& tenant : tenants) {
    VirtualCluster cluster{.tenant = tenant.name};
    for (const Pool& pool : topology.pools()) {
      const int gpus = static_cast<int>(std::floor(tenant.share * pool.gpus + kRounding));
      cluster.cells.push_back(cut(pools[pool.id.value], gpus, pool.gpus_per_node));
    }
    clusters.push_back(std::move(cluster));
  }
  return clusters;
}

Result<std::vector<VirtualCluster>> parse_clusters(std::string_view text,
                                                   const Topology& topology) {
  const std::vector<HivedCells> pools = cells_of(topology);
  std::vector<VirtualCluster> clusters;
  while (!text.empty()) {
    std::string_view cells = take_until(text, '/');
    VirtualCluster cluster{.tenant = std::string(trimmed(take_until(cells, ':'))),
                           .cells = no_cells(pools)};
    if (cluster.tenant.empty() || cells.empty()) {
      return bad_input("virtual clusters: expected TENANT:COUNTxGPUS[+...][/...]");
    }
    if (std::ranges::find(clusters, cluster.tenant, &VirtualCluster::tenant) != clusters.end()) {
      return bad_input(fmt::format("virtual clusters: '{}' is there twice", cluster.tenant));
    }
    while (!cells.empty()) {
      if (Status added = add_cells(take_until(cells, '+'), topology, pools, cluster); !added) {
        return added.error();
      }
    }
    clusters.push_back(std::move(cluster));
  }
  return clusters;
}

Status check_clusters(std::span<const VirtualCluster> clusters, const Topology& topology) {
  const std::vector<HivedCells> pools = cells_of(topology);
  for (const Pool& pool : topology.pools()) {
    const HivedCells& cells = pools[pool.id.value];
    std::vector<int> all(static_cast<std::size_t>(cells.levels()), 0);
    for (const VirtualCluster& cluster : clusters) {
      for (std::size_t level = 0; level < all.size(); ++level) {
        all[level] += cluster.cells[pool.id.value][level];
      }
    }
    if (!cells.can_hold(all)) {
      return bad_input(
          fmt::format("virtual clusters: pool {} ({} GPUs{}{}) cannot hold all their cells at once",
                      pool.id.value, pool.gpus, pool.gpu_type.empty() ? "" : ", ", pool.gpu_type));
    }
  }
  return ok_status();
}

}  // namespace rubato
