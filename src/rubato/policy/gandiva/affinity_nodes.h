// Which nodes a job goes to, by affinity: nodes collect jobs of one size, so that holes fit.
//
// Gandiva (OSDI'18, section 3.3, "reactive mode"). The first job on an empty node gives it its size
// as affinity; a node's height is what its jobs ask for over what it has, more than 1 if they must
// take turns. Wider jobs than a node, and jobs for which no node has room, are spread over what is
// free; the paper does not say how, here it is the emptiest nodes first.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "rubato/core/placement.h"
#include "rubato/core/topology.h"

namespace rubato::policy::gandiva {

/// Whether a job may go where it must take turns with others.
enum class TakeTurns {
  Never,
  WithItsSize,  // On the lowest node of its affinity.
  WithAnyone,   // On the lowest nodes there are.
};

/// The nodes of one pool; placing walks all of them.
class AffinityNodes {
 public:
  AffinityNodes(const Topology& topology, PoolId pool);

  /// Where so many workers go, from now on counted; nothing if they find no place.
  [[nodiscard]] std::optional<std::vector<NodeShare>> place(int workers, TakeTurns turns);
  /// Counts workers on these nodes, as place() would have.
  void add(std::span<const NodeShare> where);
  void remove(std::span<const NodeShare> where);
  void set_node(NodeId node, bool up);

  /// One node with room for all workers, fuller than `than` if that is given and not that node.
  [[nodiscard]] std::optional<NodeId> hole(int workers, std::optional<NodeId> than = {}) const;

  [[nodiscard]] std::span<const NodeId> ids() const { return ids_; }
  [[nodiscard]] bool has(NodeId node) const;
  [[nodiscard]] bool is_up(NodeId node) const { return at(node).up; }
  [[nodiscard]] int gpus(NodeId node) const { return at(node).gpus; }
  [[nodiscard]] int asked(NodeId node) const { return at(node).asked; }
  [[nodiscard]] int affinity(NodeId node) const { return at(node).affinity; }
  /// For loading: affinities depend on the order in which jobs came.
  void set_affinity(NodeId node, int workers) { at(node).affinity = workers; }

 private:
  struct Entry {
    int gpus = 0;
    int asked = 0;     // By all jobs placed here.
    int affinity = 0;  // Zero while it is empty.
    bool up = true;

    [[nodiscard]] int room() const { return up && gpus > asked ? gpus - asked : 0; }
  };

  [[nodiscard]] const Entry& at(NodeId node) const { return entries_.at(node.value - base_); }
  [[nodiscard]] Entry& at(NodeId node) { return entries_.at(node.value - base_); }
  [[nodiscard]] bool is_lower(NodeId left, NodeId right) const;
  [[nodiscard]] std::optional<NodeId> lowest_of(int affinity, int gpus_min) const;
  [[nodiscard]] std::optional<NodeId> first_empty(int gpus_min) const;
  [[nodiscard]] std::vector<NodeShare> spread_over_room(int workers) const;
  [[nodiscard]] std::vector<NodeShare> spread_over_lowest(int workers) const;
  [[nodiscard]] std::vector<NodeShare> choose(int workers, TakeTurns turns) const;

  std::uint64_t base_ = 0;  // Ids of a pool's nodes lie between those of its first and its last.
  std::vector<NodeId> ids_;
  std::vector<Entry> entries_;
};

}  // namespace rubato::policy::gandiva
