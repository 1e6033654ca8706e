#include "rubato/place/pool/pool_space.h"

#include <algorithm>
#include <utility>

#include "rubato/base/check.h"
#include "rubato/place/pool/position.h"

namespace rubato {
namespace {

using Order = std::set<std::pair<int, int>>;

// Replaces one entry of an order, in its own memory; those that have nothing are left out.
void reorder(Order& order, int number, int before, int after) {
  if (before == after) {
    return;
  }
  Order::node_type entry = before > 0 ? order.extract({before, number}) : Order::node_type{};
  if (after > 0 && entry.empty()) {
    order.insert({after, number});
  } else if (after > 0) {
    entry.value() = {after, number};
    order.insert(std::move(entry));
  }
}

// The number of the lowest entry that has at least this much; -1 if there is none.
int first_with(const Order& order, int least) {
  const auto found = order.lower_bound({least, -1});
  return found == order.end() ? -1 : found->second;
}

// The lowest number among those that have the most; -1 if nobody has anything.
int first_with_most(const Order& order) {
  return order.empty() ? -1 : first_with(order, order.rbegin()->first);
}

}  // namespace

PoolSpace::PoolSpace(const Topology& topology, PoolId pool)
    : tree_(topology, pool), gpus_per_node_(topology.pool(pool).gpus_per_node) {
  int rack = -1;
  for (const NodeId id : topology.pool(pool).nodes) {
    const Node& node = topology.node(id);
    if (racks_.empty() || node.rack != rack) {
      rack = node.rack;
      racks_.push_back({.gpus = {.first = node.first_gpu, .count = 0},
                        .first_node = static_cast<int>(nodes_.size())});
    }
    racks_.back().gpus.count += node.gpus;
    racks_.back().capacity += node.gpus;
    ++racks_.back().nodes;
    nodes_.push_back({.gpus = {.first = node.first_gpu, .count = node.gpus},
                      .rack = static_cast<int>(racks_.size()) - 1});
  }
  for (int number = 0; number < static_cast<int>(nodes_.size()); ++number) {
    set_free(number, nodes_[at(number)].gpus.count);
  }
}

GpuRange PoolSpace::gpus() const {
  return {.first = 0, .count = nodes_.empty() ? 0 : end_of(nodes_.back().gpus)};
}

const NodeSpace& PoolSpace::node(int number) const { return nodes_.at(at(number)); }

const RackSpace& PoolSpace::rack(int number) const { return racks_.at(at(number)); }

int PoolSpace::node_at(int gpu) const {
  const auto after = std::ranges::upper_bound(
      nodes_, gpu, {}, [](const NodeSpace& node) { return node.gpus.first; });
  RUBATO_CHECK(after != nodes_.begin() && gpu < end_of(gpus()));
  return static_cast<int>(after - nodes_.begin()) - 1;
}

std::vector<int> PoolSpace::nodes_of(std::span<const GpuRange> ranges) const {
  std::vector<int> found;
  for (const GpuRange& range : ranges) {
    int number = node_at(range.first);
    if (!found.empty() && found.back() == number) {
      ++number;
    }
    for (;
         number < static_cast<int>(nodes_.size()) && nodes_[at(number)].gpus.first < end_of(range);
         ++number) {
      found.push_back(number);
    }
  }
  return found;
}

Closeness PoolSpace::closeness(std::span<const GpuRange> ranges) const {
  const std::vector<int> held = nodes_of(ranges);
  Closeness close{.nodes = static_cast<int>(held.size())};
  if (held.size() > 1) {
    close.span =
        node(held.front()).rack == node(held.back()).rack ? Locality::Rack : Locality::Across;
  }
  return close;
}

Locality PoolSpace::narrowest_span(int gpus) const {
  const auto fits_node = [gpus](const NodeSpace& node) {
    return node.up && node.gpus.count >= gpus;
  };
  if (gpus <= gpus_per_node_ && std::ranges::any_of(nodes_, fits_node)) {
    return Locality::Node;
  }
  const auto fits_rack = [gpus](const RackSpace& rack) { return rack.capacity >= gpus; };
  return std::ranges::any_of(racks_, fits_rack) ? Locality::Rack : Locality::Across;
}

// Keeps all orders true to one node's number of free GPUs.
void PoolSpace::set_free(int number, int free) {
  NodeSpace& node = nodes_[at(number)];
  RackSpace& rack = racks_[at(node.rack)];
  RUBATO_CHECK(free >= 0 && free <= node.gpus.count);
  const int rack_free = rack.free + free - node.free;
  const int whole =
      rack.whole - (node.free == gpus_per_node_ ? 1 : 0) + (free == gpus_per_node_ ? 1 : 0);
  reorder(nodes_by_free_, number, node.free, free);
  reorder(racks_by_free_, node.rack, rack.free, rack_free);
  reorder(racks_by_whole_, node.rack, rack.whole, whole);
  node.free = free;
  rack.free = rack_free;
  rack.whole = whole;
}

void PoolSpace::mark(const GpuRange& range, bool free) {
  free ? tree_.give(range) : tree_.take(range);
  for (int number = node_at(range.first); number < static_cast<int>(nodes_.size()); ++number) {
    const NodeSpace& here = nodes_[at(number)];
    const int first = std::max(range.first, here.gpus.first);
    const int changed = std::min(end_of(range), end_of(here.gpus)) - first;
    if (changed <= 0) {
      break;
    }
    RUBATO_CHECK(here.up);
    set_free(number, here.free + (free ? changed : -changed));
  }
}

void PoolSpace::take(std::span<const GpuRange> ranges) {
  for (const GpuRange& range : ranges) {
    mark(range, false);
  }
}

void PoolSpace::give(std::span<const GpuRange> ranges) {
  for (const GpuRange& range : ranges) {
    mark(range, true);
  }
}

void PoolSpace::set_node(int number, bool up) {
  NodeSpace& node = nodes_.at(at(number));
  if (node.up == up) {
    return;
  }
  if (up) {
    node.up = true;
    mark(node.gpus, true);
  } else {
    mark(node.gpus, false);
    node.up = false;
  }
  racks_[at(node.rack)].capacity += up ? node.gpus.count : -node.gpus.count;
}

int PoolSpace::fullest_node(int free_min) const { return first_with(nodes_by_free_, free_min); }

// Nodes of a rack are neighbours, so one look for each number of free GPUs finds the best.
int PoolSpace::fullest_node_in(int rack, int free_min) const {
  const int low = this->rack(rack).first_node;
  const int high = low + this->rack(rack).nodes;
  for (int free = std::max(free_min, 1); free <= gpus_per_node_; ++free) {
    const auto found = nodes_by_free_.lower_bound({free, low});
    if (found != nodes_by_free_.end() && *found < std::pair(free, high)) {
      return found->second;
    }
  }
  return -1;
}

int PoolSpace::emptiest_node() const { return first_with_most(nodes_by_free_); }

int PoolSpace::emptiest_node_in(int rack) const {
  const int low = this->rack(rack).first_node;
  const int high = low + this->rack(rack).nodes;
  for (int free = gpus_per_node_; free > 0; --free) {
    const auto found = nodes_by_free_.lower_bound({free, low});
    if (found != nodes_by_free_.end() && *found < std::pair(free, high)) {
      return found->second;
    }
  }
  return -1;
}

int PoolSpace::fullest_rack_of_whole(int whole_min, int free_min) const {
  for (auto each = racks_by_whole_.lower_bound({std::max(whole_min, 1), -1});
       each != racks_by_whole_.end(); ++each) {
    if (rack(each->second).free >= free_min) {
      return each->second;
    }
  }
  return -1;
}

int PoolSpace::fullest_rack(int free_min) const { return first_with(racks_by_free_, free_min); }

int PoolSpace::emptiest_rack_of_whole() const { return first_with_most(racks_by_whole_); }

}  // namespace rubato
