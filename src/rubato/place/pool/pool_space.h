// What is free in one pool: the buddy tree, and the nodes and racks ordered by how full they are.
#pragma once

#include <set>
#include <span>
#include <utility>
#include <vector>

#include "rubato/core/topology.h"
#include "rubato/place/pool/buddy_tree.h"
#include "rubato/place/pool/gpu_ranges.h"

namespace rubato {

/// Nodes and racks are numbered inside the pool, in the order of their GPUs.
struct NodeSpace {
  GpuRange gpus{};
  int rack = 0;
  int free = 0;
  bool up = true;
};

struct RackSpace {
  GpuRange gpus{};
  int first_node = 0;
  int nodes = 0;
  int capacity = 0;  // GPUs of its nodes that are up.
  int free = 0;
  int whole = 0;  // Nodes that are wholly free and as large as the pool's largest.
};

/// How close together some GPUs are; less is better.
struct Closeness {
  Locality span = Locality::Node;
  int nodes = 0;

  friend bool operator<(const Closeness& left, const Closeness& right) {
    return std::pair(left.span, left.nodes) < std::pair(right.span, right.nodes);
  }
};

/// Every change costs O(levels) for each node that it touches.
class PoolSpace {
 public:
  PoolSpace(const Topology& topology, PoolId pool);

  [[nodiscard]] int free_gpus() const { return tree_.free_gpus(); }
  [[nodiscard]] int gpus_per_node() const { return gpus_per_node_; }
  [[nodiscard]] GpuRange gpus() const;
  [[nodiscard]] std::span<const NodeSpace> nodes() const { return nodes_; }
  [[nodiscard]] std::span<const RackSpace> racks() const { return racks_; }
  [[nodiscard]] const NodeSpace& node(int number) const;
  [[nodiscard]] const RackSpace& rack(int number) const;
  [[nodiscard]] BuddyTree& tree() { return tree_; }

  [[nodiscard]] int node_at(int gpu) const;
  /// The nodes that hold these GPUs, rising.
  [[nodiscard]] std::vector<int> nodes_of(std::span<const GpuRange> ranges) const;
  [[nodiscard]] Closeness closeness(std::span<const GpuRange> ranges) const;
  /// The narrowest span that could hold this many GPUs if all nodes that are up were free.
  [[nodiscard]] Locality narrowest_span(int gpus) const;

  void take(std::span<const GpuRange> ranges);
  void give(std::span<const GpuRange> ranges);
  /// A node that goes down must be wholly free.
  void set_node(int number, bool up);

  /// The node with the fewest free GPUs that has at least this many; -1 if there is none.
  [[nodiscard]] int fullest_node(int free_min) const;
  [[nodiscard]] int fullest_node_in(int rack, int free_min) const;
  /// The node with the most free GPUs; -1 if nothing is free.
  [[nodiscard]] int emptiest_node() const;
  [[nodiscard]] int emptiest_node_in(int rack) const;
  /// The fullest rack with at least this many wholly free nodes and free GPUs; -1 if none has.
  [[nodiscard]] int fullest_rack_of_whole(int whole_min, int free_min) const;
  [[nodiscard]] int fullest_rack(int free_min) const;
  /// The rack with the most wholly free nodes; -1 if no node is.
  [[nodiscard]] int emptiest_rack_of_whole() const;

 private:
  using Order = std::set<std::pair<int, int>>;  // (how much, number): best fit, then lowest.

  void mark(const GpuRange& range, bool free);
  void set_free(int number, int free);

  BuddyTree tree_;
  std::vector<NodeSpace> nodes_;
  std::vector<RackSpace> racks_;
  Order nodes_by_free_;  // Without the nodes that have none.
  Order racks_by_free_;
  Order racks_by_whole_;
  int gpus_per_node_ = 0;
};

}  // namespace rubato
