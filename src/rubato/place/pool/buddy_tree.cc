#include "rubato/place/pool/buddy_tree.h"

#include <algorithm>
#include <bit>

#include "rubato/base/check.h"
#include "rubato/place/pool/position.h"

namespace rubato {
namespace {

// Size classes: class i below kRuns is a block of 2^i GPUs, class kRuns + i a run of 2^i nodes.
constexpr int kRuns = 11;
constexpr int kClasses = 32;
constexpr int kNodeGpusMax = 1 << (kRuns - 1);

constexpr std::uint32_t bit(int size_class) { return std::uint32_t{1} << size_class; }

int log2_of(int power_of_two) { return std::countr_zero(static_cast<unsigned>(power_of_two)); }

// The classes in the word that are at least the given one.
std::uint32_t at_least(std::uint32_t classes, int size_class) {
  return classes & ~(bit(size_class) - 1);
}

bool holds(const GpuRange& outer, const GpuRange& inner) {
  return outer.first <= inner.first && end_of(inner) <= end_of(outer);
}

}  // namespace

BuddyTree::BuddyTree(const Topology& topology, PoolId pool)
    : gpus_per_node_(topology.pool(pool).gpus_per_node) {
  RUBATO_CHECK(gpus_per_node_ <= kNodeGpusMax);
  const std::vector<NodeId>& nodes = topology.pool(pool).nodes;
  std::vector<std::span<const NodeId>> racks;
  for (std::size_t first = 0, i = 1; i <= nodes.size(); ++i) {
    if (i == nodes.size() || topology.node(nodes[i]).rack != topology.node(nodes[first]).rack) {
      racks.push_back(std::span(nodes).subspan(first, i - first));
      first = i;
    }
  }
  if (!racks.empty()) {
    cells_.reserve(2 * at(topology.pool(pool).gpus));
    build(0, static_cast<int>(racks.size()), Level::Pool,
          [&](int rack) { return build_rack(topology, racks[at(rack)]); });
  }
}

// The cells over units [low, high), which `unit` builds one by one; returns the topmost.
template <typename Unit>
int BuddyTree::build(int low, int high, Level level, const Unit& unit) {
  if (high - low == 1) {
    return unit(low);
  }
  const int index = static_cast<int>(cells_.size());
  cells_.emplace_back();
  const int middle = low + static_cast<int>(std::bit_floor(static_cast<unsigned>(high - low - 1)));
  build(low, middle, level, unit);
  cells_[at(index)].right = build(middle, high, level, unit);
  join(index, level);
  return index;
}

// Two equal blocks make one of the next class, but nodes only with nodes and never across racks.
void BuddyTree::join(int index, Level level) {
  Cell& cell = cells_[at(index)];
  const Cell& left = cells_[at(index + 1)];
  const Cell& right = cells_[at(cell.right)];
  cell.first = left.first;
  cell.size = cell.free = left.size + right.size;
  const std::uint32_t blocks = left.blocks_when_free;
  const bool is_pair = blocks == right.blocks_when_free && std::has_single_bit(blocks);
  const bool may_join = level == Level::Node || (level == Level::Rack && blocks >= bit(kRuns));
  cell.blocks_when_free = is_pair && may_join ? blocks << 1U : blocks | right.blocks_when_free;
  cell.blocks = cell.blocks_when_free;
}

int BuddyTree::build_rack(const Topology& topology, std::span<const NodeId> nodes) {
  return build(0, static_cast<int>(nodes.size()), Level::Rack,
               [&](int i) { return build_node(topology.node(nodes[at(i)])); });
}

int BuddyTree::build_node(const Node& node) {
  const int per_switch = std::clamp(node.gpus_per_switch, 1, node.gpus);
  const auto gpu = [&](int number) {
    cells_.push_back({.first = node.first_gpu + number, .size = 1, .free = 1});
    cells_.back().blocks = cells_.back().blocks_when_free = bit(0);
    return static_cast<int>(cells_.size()) - 1;
  };
  const int top = build(0, (node.gpus + per_switch - 1) / per_switch, Level::Node, [&](int number) {
    const int first = number * per_switch;
    return build(first, std::min(first + per_switch, node.gpus), Level::Node, gpu);
  });
  if (node.gpus == gpus_per_node_) {
    cells_[at(top)].blocks = cells_[at(top)].blocks_when_free = bit(kRuns);
  }
  return top;
}

// Brings the children up to date, so that they can be looked at or changed.
void BuddyTree::open(int index) {
  const Cell& cell = cells_[at(index)];
  if (cell.size == 1 || (cell.free != 0 && cell.free != cell.size)) {
    return;
  }
  for (const int child : {index + 1, cell.right}) {
    Cell& below = cells_[at(child)];
    below.free = cell.free == 0 ? 0 : below.size;
    below.blocks = cell.free == 0 ? 0 : below.blocks_when_free;
  }
}

void BuddyTree::mark(int index, const GpuRange& range, bool free) {
  Cell& cell = cells_[at(index)];
  if (holds(range, {.first = cell.first, .count = cell.size})) {
    RUBATO_CHECK(cell.free == (free ? 0 : cell.size));
    cell.free = free ? cell.size : 0;
    cell.blocks = free ? cell.blocks_when_free : 0;
    return;
  }
  open(index);
  const Cell& left = cells_[at(index + 1)];
  const Cell& right = cells_[at(cell.right)];
  if (range.first < right.first) {
    mark(index + 1, range, free);
  }
  if (end_of(range) > right.first) {
    mark(cell.right, range, free);
  }
  cell.free = left.free + right.free;
  cell.blocks = cell.free == cell.size ? cell.blocks_when_free : left.blocks | right.blocks;
}

void BuddyTree::take(const GpuRange& range) {
  RUBATO_CHECK(range.count > 0 && range.first >= 0 && end_of(range) <= cells_.front().size);
  mark(0, range, false);
}

void BuddyTree::give(const GpuRange& range) {
  RUBATO_CHECK(range.count > 0 && range.first >= 0 && end_of(range) <= cells_.front().size);
  mark(0, range, true);
}

// How many GPUs of the range are free below a cell that is up to date.
int BuddyTree::free_below(int index, const GpuRange& range) const {
  const Cell& cell = cells_[at(index)];
  const GpuRange all{.first = cell.first, .count = cell.size};
  const int common = overlap(std::span(&range, 1), all);
  if (cell.free == 0 || cell.free == cell.size) {
    return cell.free == 0 ? 0 : common;
  }
  if (common == 0 || common == cell.size) {
    return common == 0 ? 0 : cell.free;
  }
  return free_below(index + 1, range) + free_below(cell.right, range);
}

int BuddyTree::free_in(const GpuRange& range) const {
  return cells_.empty() ? 0 : free_below(0, range);
}

// The cell of a pool, rack or node, with everything above it brought up to date.
int BuddyTree::find(const GpuRange& scope) {
  int index = 0;
  while (cells_[at(index)].size != scope.count) {
    RUBATO_CHECK(cells_[at(index)].size > scope.count);
    open(index);
    const int right = cells_[at(index)].right;
    index = scope.first < cells_[at(right)].first ? index + 1 : right;
  }
  RUBATO_CHECK(cells_[at(index)].first == scope.first);
  return index;
}

// The lowest free block of this class below a cell that has one.
int BuddyTree::descend(int index, int size_class) {
  while (cells_[at(index)].blocks != bit(size_class) ||
         cells_[at(index)].free != cells_[at(index)].size) {
    open(index);
    const bool is_left = (cells_[at(index + 1)].blocks & bit(size_class)) != 0;
    index = is_left ? index + 1 : cells_[at(index)].right;
  }
  return index;
}

// An aligned block in the first node of a run of free nodes: none if its switches are too small.
std::optional<GpuRange> BuddyTree::block_in_free_node(int index, int gpus) {
  for (; cells_[at(index)].size > gpus_per_node_; ++index) {
    open(index);
  }
  if (gpus == gpus_per_node_) {
    return GpuRange{.first = cells_[at(index)].first, .count = gpus};
  }
  open(index);
  const Cell& left = cells_[at(index + 1)];
  const Cell& right = cells_[at(cells_[at(index)].right)];
  const std::uint32_t classes = at_least(left.blocks | right.blocks, log2_of(gpus));
  if (classes == 0) {
    return std::nullopt;
  }
  const int size_class = std::countr_zero(classes);
  const bool is_left = (left.blocks & bit(size_class)) != 0;
  const int block = descend(is_left ? index + 1 : cells_[at(index)].right, size_class);
  return GpuRange{.first = cells_[at(block)].first, .count = gpus};
}

std::optional<GpuRange> BuddyTree::best_block(const GpuRange& scope, int gpus) {
  RUBATO_CHECK(std::has_single_bit(static_cast<unsigned>(gpus)));
  if (gpus > gpus_per_node_) {
    return std::nullopt;
  }
  const int top = find(scope);
  const std::uint32_t classes = at_least(cells_[at(top)].blocks, log2_of(gpus));
  if (classes == 0) {
    return std::nullopt;
  }
  const int size_class = std::countr_zero(classes);
  const int block = descend(top, size_class);
  if (size_class >= kRuns) {
    return block_in_free_node(block, gpus);
  }
  return GpuRange{.first = cells_[at(block)].first, .count = gpus};
}

std::optional<GpuRange> BuddyTree::best_run(const GpuRange& scope, int nodes) {
  RUBATO_CHECK(std::has_single_bit(static_cast<unsigned>(nodes)));
  const int top = find(scope);
  const std::uint32_t classes = at_least(cells_[at(top)].blocks, kRuns + log2_of(nodes));
  if (classes == 0) {
    return std::nullopt;
  }
  const int block = descend(top, std::countr_zero(classes));
  return GpuRange{.first = cells_[at(block)].first, .count = nodes * gpus_per_node_};
}

std::optional<GpuRange> BuddyTree::longest_run(const GpuRange& scope) {
  const int top = find(scope);
  const std::uint32_t classes = at_least(cells_[at(top)].blocks, kRuns);
  if (classes == 0) {
    return std::nullopt;
  }
  const Cell& block = cells_[at(descend(top, kClasses - 1 - std::countl_zero(classes)))];
  return GpuRange{.first = block.first, .count = block.size};
}

// Stays on one side as long as that has enough: the fuller one. Else all of the side with more.
void BuddyTree::pick_free(int index, int gpus, GpuRanges& into) {
  const Cell& cell = cells_[at(index)];
  if (gpus == 0) {
    return;
  }
  if (gpus == cell.size) {
    into.push_back({.first = cell.first, .count = cell.size});
    return;
  }
  open(index);
  const int left = cells_[at(index + 1)].free;
  const int right = cells_[at(cell.right)].free;
  const bool left_fits = left >= gpus && (right < gpus || left <= right);
  if (left_fits || right >= gpus) {
    pick_free(left_fits ? index + 1 : cell.right, gpus, into);
  } else {
    const int from_left = left >= right ? left : gpus - right;
    pick_free(index + 1, from_left, into);
    pick_free(cell.right, gpus - from_left, into);
  }
}

GpuRanges BuddyTree::pick(const GpuRange& scope, int gpus) {
  const int top = find(scope);
  RUBATO_CHECK(gpus <= cells_[at(top)].free);
  GpuRanges found;
  pick_free(top, gpus, found);
  return joined(found, {});
}

// Below the smallest cell around `own` first, then its sibling, then its parent's; returns how
// many.
int BuddyTree::pick_around(int index, std::span<const GpuRange> own, int gpus, GpuRanges& into) {
  const Cell& cell = cells_[at(index)];
  open(index);
  const int middle = cell.size == 1 ? cell.first : cells_[at(cell.right)].first;
  const bool is_left = end_of(own.back()) <= middle;
  const bool is_right = cell.size > 1 && own.front().first >= middle;
  if (!is_left && !is_right) {
    const int found = std::min(gpus, cell.free);
    pick_free(index, found, into);
    return found;
  }
  const int sibling = is_left ? cell.right : index + 1;
  const int found = pick_around(is_left ? index + 1 : cell.right, own, gpus, into);
  const int more = std::min(gpus - found, cells_[at(sibling)].free);
  pick_free(sibling, more, into);
  return found + more;
}

GpuRanges BuddyTree::pick_near(const GpuRange& scope, std::span<const GpuRange> own, int gpus) {
  RUBATO_CHECK(!own.empty());
  GpuRanges found;
  pick_around(find(scope), own, gpus, found);
  return joined(found, {});
}

// As pick_free, among the job's own GPUs; on a tie the lower side stays.
void BuddyTree::keep_own(int index, std::span<const GpuRange> own, int gpus,
                         GpuRanges& into) const {
  const Cell& cell = cells_[at(index)];
  const GpuRange range{.first = cell.first, .count = cell.size};
  if (gpus == 0) {
    return;
  }
  if (gpus == overlap(own, range)) {
    const GpuRanges all = inside(own, range);
    into.insert(into.end(), all.begin(), all.end());
    return;
  }
  const Cell& below = cells_[at(index + 1)];
  const int left = overlap(own, {.first = below.first, .count = below.size});
  const int right = overlap(own, range) - left;
  const bool left_fits = left >= gpus && (right < gpus || left <= right);
  if (left_fits || right >= gpus) {
    keep_own(left_fits ? index + 1 : cell.right, own, gpus, into);
  } else {
    const int from_left = left >= right ? left : gpus - right;
    keep_own(index + 1, own, from_left, into);
    keep_own(cell.right, own, gpus - from_left, into);
  }
}

GpuRanges BuddyTree::keep(const GpuRange& scope, std::span<const GpuRange> own, int gpus) {
  RUBATO_CHECK(gpus <= overlap(own, scope));
  GpuRanges kept;
  keep_own(find(scope), own, gpus, kept);
  return joined(kept, {});
}

std::optional<GpuRange> BuddyTree::block_around(std::span<const GpuRange> own, int gpus) const {
  const GpuRange hull{.first = own.front().first, .count = end_of(own.back()) - own.front().first};
  for (int index = 0; cells_[at(index)].size >= gpus;) {
    const Cell& cell = cells_[at(index)];
    const GpuRange range{.first = cell.first, .count = cell.size};
    if (!holds(range, hull)) {
      return std::nullopt;
    }
    if (cell.size == gpus) {
      return std::has_single_bit(cell.blocks_when_free) ? std::optional(range) : std::nullopt;
    }
    index = hull.first < cells_[at(cell.right)].first ? index + 1 : cell.right;
  }
  return std::nullopt;
}

}  // namespace rubato
