// The machines: regions hold racks, racks hold nodes, nodes hold switches, switches hold GPUs.
//
// GPUs are numbered inside their pool (all nodes of one GPU type in one region), node after node,
// so that a range of numbers is a set of neighbours. A job lives in one pool, so it never spans
// regions: the links between them carry its data, not its gradients.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/base/time.h"
#include "rubato/core/ids.h"
#include "rubato/core/placement.h"

namespace rubato {

/// A site that data must reach before a job can run there.
struct Region {
  std::string name{};
  Duration delay{};  // Until the first byte is there.
  double gbps = 0;   // Of the link into it; zero: no limit.

  friend bool operator==(const Region&, const Region&) = default;
};

/// One machine.
struct Node {
  NodeId id{};
  PoolId pool{};
  int rack = 0;
  int region = 0;
  int gpus = 0;
  int gpus_per_switch = 0;  // GPUs that share a switch or socket; the whole node if unknown.
  int first_gpu = 0;        // Number of its first GPU inside the pool.
};

/// All nodes of one GPU type in one region.
struct Pool {
  PoolId id{};
  std::string gpu_type{};
  int region = 0;
  int gpus = 0;
  int gpus_per_node = 0;  // The largest node's.
  std::vector<NodeId> nodes{};
};

/// One group of equal nodes, as written in `--cluster 16x8:A100@west`.
struct NodeGroup {
  int nodes = 0;
  int gpus_per_node = 0;
  std::string gpu_type{};
  int nodes_per_rack = 0;   // Zero: all nodes of the group share one rack.
  int gpus_per_switch = 0;  // Zero: one switch per node.
  Region region{};
};

/// Immutable tree of machines; which nodes are up is the engine's to know.
class Topology {
 public:
  Topology() = default;
  explicit Topology(std::span<const NodeGroup> groups);

  /// `16x8`, `16x8:A100`, `16x8:A100+4x4:T4`; with regions `2x4@edge/1+16x8:A100@cloud/3/10`, after
  /// whose names stand the seconds until data arrive and the link's Gb/s. The error names the part
  /// that is wrong.
  static Result<Topology> parse(std::string_view text);

  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] std::span<const Pool> pools() const { return pools_; }
  [[nodiscard]] std::span<const Region> regions() const { return regions_; }
  [[nodiscard]] const Node& node(NodeId id) const { return nodes_.at(id.value); }
  [[nodiscard]] const Pool& pool(PoolId id) const { return pools_.at(id.value); }
  [[nodiscard]] int gpus() const;
  /// How long this much data takes into the region of a pool; no time if they lie there already.
  [[nodiscard]] Duration upload_time(PoolId pool, std::string_view from, double gigabytes) const;

  /// The node that holds a GPU of a pool.
  [[nodiscard]] const Node& node_of(PoolId pool, int gpu) const;
  /// How many of these GPUs each node holds, in the order of nodes.
  [[nodiscard]] std::vector<NodeShare> nodes_of(const Placement& placement) const;
  /// How far apart these GPUs are.
  [[nodiscard]] Locality span_of(const Placement& placement) const;
  /// The narrowest span that can hold this many GPUs of a pool.
  [[nodiscard]] Locality narrowest_span(PoolId pool, int gpus) const;

 private:
  std::vector<Node> nodes_;
  std::vector<Pool> pools_;
  std::vector<Region> regions_;
};

}  // namespace rubato
