#include "rubato/policy/gandiva/affinity_nodes.h"

#include <algorithm>
#include <tuple>

#include "rubato/base/check.h"

namespace rubato::policy::gandiva {

AffinityNodes::AffinityNodes(const Topology& topology, PoolId pool)
    : ids_(topology.pool(pool).nodes) {
  if (ids_.empty()) {
    return;
  }
  const auto [first, last] = std::minmax_element(ids_.begin(), ids_.end());
  base_ = first->value;
  entries_.resize(last->value - base_ + 1);
  for (const NodeId id : ids_) {
    at(id).gpus = topology.node(id).gpus;
  }
}

bool AffinityNodes::has(NodeId node) const { return std::ranges::find(ids_, node) != ids_.end(); }

// Compares heights, asked over had, without dividing.
bool AffinityNodes::is_lower(NodeId left, NodeId right) const {
  return static_cast<long>(at(left).asked) * at(right).gpus <
         static_cast<long>(at(right).asked) * at(left).gpus;
}

// The lowest node that collects this size and has so many GPUs at all.
std::optional<NodeId> AffinityNodes::lowest_of(int affinity, int gpus_min) const {
  std::optional<NodeId> lowest;
  for (const NodeId id : ids_) {
    const Entry& node = at(id);
    if (node.up && node.affinity == affinity && node.gpus >= gpus_min &&
        (!lowest || is_lower(id, *lowest))) {
      lowest = id;
    }
  }
  return lowest;
}

std::optional<NodeId> AffinityNodes::first_empty(int gpus_min) const {
  const auto found = std::ranges::find_if(ids_, [&](NodeId id) {
    return at(id).up && at(id).affinity == 0 && at(id).gpus >= gpus_min;
  });
  return found == ids_.end() ? std::nullopt : std::optional(*found);
}

std::optional<NodeId> AffinityNodes::hole(int workers, std::optional<NodeId> than) const {
  std::optional<NodeId> best;
  for (const NodeId id : ids_) {
    const bool qualifies =
        at(id).room() >= workers && (!than || (id != *than && is_lower(*than, id)));
    if (qualifies && (!best || at(id).room() < at(*best).room())) {
      best = id;
    }
  }
  return best;
}

// The nodes with most room first; empty if there is too little in all.
std::vector<NodeShare> AffinityNodes::spread_over_room(int workers) const {
  std::vector<NodeId> order = ids_;
  std::ranges::stable_sort(order, {}, [this](NodeId id) { return -at(id).room(); });
  std::vector<NodeShare> where;
  for (const NodeId id : order) {
    const int some = std::min(workers, at(id).room());
    if (some > 0) {
      where.push_back({.node = id, .workers = some});
      workers -= some;
    }
  }
  return workers == 0 ? where : std::vector<NodeShare>{};
}

// As few nodes as hold all workers, the lowest first; empty if all nodes are too few.
std::vector<NodeShare> AffinityNodes::spread_over_lowest(int workers) const {
  std::vector<NodeId> order;
  std::ranges::copy_if(ids_, std::back_inserter(order), [this](NodeId id) { return at(id).up; });
  std::ranges::stable_sort(order,
                           [this](NodeId left, NodeId right) { return is_lower(left, right); });
  const auto one = std::ranges::find_if(order, [&](NodeId id) { return at(id).gpus >= workers; });
  if (one != order.end()) {
    return {{.node = *one, .workers = workers}};
  }
  std::vector<NodeShare> where;
  for (const NodeId id : order) {
    const int some = std::min(workers, at(id).gpus);
    if (some > 0) {
      where.push_back({.node = id, .workers = some});
      workers -= some;
    }
  }
  return workers == 0 ? where : std::vector<NodeShare>{};
}

std::vector<NodeShare> AffinityNodes::choose(int workers, TakeTurns turns) const {
  const auto same = lowest_of(workers, workers);
  if (same && at(*same).room() >= workers) {
    return {{.node = *same, .workers = workers}};
  }
  if (const auto empty = first_empty(workers)) {
    return {{.node = *empty, .workers = workers}};
  }
  if (const auto node = hole(workers)) {
    return {{.node = *node, .workers = workers}};
  }
  if (auto spread = spread_over_room(workers); !spread.empty()) {
    return spread;
  }
  if (same && turns != TakeTurns::Never) {
    return {{.node = *same, .workers = workers}};
  }
  return turns == TakeTurns::WithAnyone ? spread_over_lowest(workers) : std::vector<NodeShare>{};
}

std::optional<std::vector<NodeShare>> AffinityNodes::place(int workers, TakeTurns turns) {
  RUBATO_CHECK(workers > 0);
  std::vector<NodeShare> where = choose(workers, turns);
  if (where.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(where);
  add(where);
  return where;
}

void AffinityNodes::add(std::span<const NodeShare> where) {
  int workers = 0;
  for (const NodeShare& share : where) {
    workers += share.workers;
  }
  for (const NodeShare& share : where) {
    Entry& node = at(share.node);
    node.affinity = node.affinity == 0 ? workers : node.affinity;
    node.asked += share.workers;
  }
}

void AffinityNodes::remove(std::span<const NodeShare> where) {
  for (const NodeShare& share : where) {
    Entry& node = at(share.node);
    node.asked -= share.workers;
    RUBATO_CHECK(node.asked >= 0);
    node.affinity = node.asked == 0 ? 0 : node.affinity;
  }
}

void AffinityNodes::set_node(NodeId node, bool up) { at(node).up = up; }

}  // namespace rubato::policy::gandiva
