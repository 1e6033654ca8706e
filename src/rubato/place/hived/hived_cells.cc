#include "rubato/place/hived/hived_cells.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "rubato/base/check.h"

namespace rubato {
namespace {

// Levels count from one.
std::size_t at_level(int level) { return static_cast<std::size_t>(level - 1); }

// Prime factors, smallest first: each is one level of buddies.
void append_factors(int number, std::vector<int>& fan_outs) {
  for (int factor = 2; number > 1; ++factor) {
    for (; number % factor == 0; number /= factor) {
      fan_outs.push_back(factor);
    }
  }
}

/// What the nodes of a pool have in common.
struct CommonShape {
  int gpus_per_node = 0;    // The largest number that divides all of them.
  int gpus_per_switch = 0;  // Likewise, and a divisor of gpus_per_node.
  int nodes_per_rack = 0;   // Zero if racks or nodes are unequal.
};

CommonShape shape_of(const Topology& topology, const Pool& pool) {
  CommonShape shape;
  std::map<int, int> racks;
  bool equal = true;
  for (const NodeId id : pool.nodes) {
    const Node& node = topology.node(id);
    shape.gpus_per_node = std::gcd(shape.gpus_per_node, node.gpus);
    const int in_switch = node.gpus_per_switch > 0 ? node.gpus_per_switch : node.gpus;
    shape.gpus_per_switch = std::gcd(shape.gpus_per_switch, in_switch);
    equal = equal && node.gpus == pool.gpus_per_node;
    ++racks[node.rack];
  }
  shape.gpus_per_switch = std::gcd(shape.gpus_per_switch, shape.gpus_per_node);
  const int in_first = racks.empty() ? 0 : racks.begin()->second;
  equal = equal && std::ranges::all_of(
                       racks, [in_first](const auto& rack) { return rack.second == in_first; });
  shape.nodes_per_rack = equal ? in_first : 0;
  return shape;
}

}  // namespace

HivedCells::HivedCells(const std::vector<int>& fan_outs, int tops) : sizes_{1}, tops_(tops) {
  for (const int fan_out : fan_outs) {
    RUBATO_CHECK(fan_out > 1);
    sizes_.push_back(sizes_.back() * fan_out);
  }
  free_.resize(sizes_.size());
  for (int top = 0; top < tops; ++top) {
    free_.back().insert(top * sizes_.back());
  }
}

HivedCells HivedCells::of(const Topology& topology, PoolId pool) {
  const CommonShape shape = shape_of(topology, topology.pool(pool));
  std::vector<int> fan_outs;
  append_factors(shape.gpus_per_switch, fan_outs);
  append_factors(shape.gpus_per_node / shape.gpus_per_switch, fan_outs);
  int top = shape.gpus_per_node;
  if (shape.nodes_per_rack > 1) {
    fan_outs.push_back(shape.nodes_per_rack);
    top *= shape.nodes_per_rack;
  }
  return HivedCells(fan_outs, topology.pool(pool).gpus / top);
}

int HivedCells::size(int level) const { return sizes_.at(at_level(level)); }

int HivedCells::level_of(int gpus) const {
  const auto found = std::ranges::find(sizes_, gpus);
  return found == sizes_.end() ? 0 : static_cast<int>(found - sizes_.begin()) + 1;
}

const std::set<int>& HivedCells::free(int level) const { return free_.at(at_level(level)); }

// The first GPU of the free cell to take; nothing if there is none that can be used.
std::optional<int> HivedCells::cheapest(int level, const CellCost& cost) const {
  std::optional<int> best;
  int least = kUnusable;
  for (const int first : free(level)) {
    const int price = cost ? cost({.first = first, .count = size(level)}) : 0;
    if (price < least) {
      least = price;
      best = first;
    }
    if (least <= 0) {
      break;
    }
  }
  return best;
}

std::optional<GpuRange> HivedCells::alloc(int level, const CellCost& cost) {
  std::optional<int> first = cheapest(level, cost);
  if (!first && level < levels()) {
    const auto parent = alloc(level + 1, cost);
    for (int i = 0; parent && i < fan_out(level + 1); ++i) {
      free_[at_level(level)].insert(parent->first + i * size(level));
    }
    first = parent ? cheapest(level, cost) : std::nullopt;
  }
  if (!first) {
    return std::nullopt;
  }
  free_[at_level(level)].erase(*first);
  return GpuRange{.first = *first, .count = size(level)};
}

bool HivedCells::take(int level, int first) {
  if (level < 1 || level > levels() || first < 0 || first % size(level) != 0) {
    return false;
  }
  int whole = level;  // The level of the free cell that it is, or is a part of.
  while (!free(whole).contains(first / size(whole) * size(whole))) {
    if (++whole > levels()) {
      return false;
    }
  }
  for (; whole > level; --whole) {
    const int around = first / size(whole) * size(whole);
    free_[at_level(whole)].erase(around);
    for (int i = 0; i < fan_out(whole); ++i) {
      free_[at_level(whole - 1)].insert(around + i * size(whole - 1));
    }
  }
  free_[at_level(level)].erase(first);
  return true;
}

void HivedCells::release(int level, const GpuRange& cell) {
  std::set<int>& here = free_.at(at_level(level));
  const bool was_taken = here.insert(cell.first).second;
  RUBATO_CHECK(cell.count == size(level) && was_taken);
  if (level == levels()) {
    return;
  }
  const int above = size(level + 1);
  const int first = cell.first / above * above;
  const auto low = here.lower_bound(first);
  const auto high = here.lower_bound(first + above);
  if (std::distance(low, high) == fan_out(level + 1)) {
    here.erase(low, high);
    release(level + 1, {.first = first, .count = above});
  }
}

bool HivedCells::can_hold(std::span<const int> cells) const {
  long left = tops_;
  for (int level = levels(); level >= 1; --level) {
    left -= at_level(level) < cells.size() ? cells[at_level(level)] : 0;
    if (left < 0) {
      return false;
    }
    left *= level > 1 ? fan_out(level) : 1;
  }
  return true;
}

}  // namespace rubato
