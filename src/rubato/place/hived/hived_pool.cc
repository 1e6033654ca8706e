#include "rubato/place/hived/hived_pool.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "rubato/base/check.h"
#include "rubato/place/pool/position.h"

namespace rubato {
namespace {

// Adds a GPU to rising ranges.
void append(GpuRanges& ranges, int gpu) {
  if (!ranges.empty() && end_of(ranges.back()) == gpu) {
    ++ranges.back().count;
  } else {
    ranges.push_back({.first = gpu, .count = 1});
  }
}

}  // namespace

HivedPool::HivedPool(const Topology& topology, PoolId pool, std::vector<std::vector<int>> quotas)
    : cells_(HivedCells::of(topology, pool)), gpus_(at(topology.pool(pool).gpus)) {
  for (std::vector<int>& quota : quotas) {
    const std::size_t levels = quota.size();
    clusters_.push_back({.quota = std::move(quota), .bound_count = std::vector<int>(levels, 0)});
  }
  for (const NodeId id : topology.pool(pool).nodes) {
    const Node& node = topology.node(id);
    nodes_.push_back({.first = node.first_gpu, .count = node.gpus});
  }
}

int HivedPool::count(const GpuRange& range, bool (Gpu::*is)() const) const {
  return static_cast<int>(
      std::count_if(gpus_.begin() + range.first, gpus_.begin() + end_of(range), std::mem_fn(is)));
}

int HivedPool::idle() const {
  return count({.first = 0, .count = static_cast<int>(gpus_.size())}, &Gpu::is_idle);
}

int HivedPool::node_at(int gpu) const {
  const auto after = std::ranges::upper_bound(nodes_, gpu, {}, &GpuRange::first);
  return static_cast<int>(after - nodes_.begin()) - 1;
}

bool HivedPool::is_near(const GpuRange& cell, std::span<const GpuRange> own) const {
  return overlap(own, nodes_[at(node_at(cell.first))]) > 0;
}

// The bound cell with the fewest GPUs left that has enough; with nobody in the way if possible.
HivedPool::Bound* HivedPool::fullest(Cluster& cluster, int gpus, std::span<const GpuRange> own) {
  Bound* best = nullptr;
  std::tuple<int, bool, int> least{};
  for (Bound& cell : cluster.bound) {
    const int left = count(cell.gpus, &Gpu::can_be_claimed);
    if (left < gpus) {
      continue;
    }
    const int in_the_way = std::max(0, gpus - count(cell.gpus, &Gpu::is_idle));
    const std::tuple<int, bool, int> rank{in_the_way, !is_near(cell.gpus, own), left};
    if (best == nullptr || rank < least) {
      best = &cell;
      least = rank;
    }
  }
  return best;
}

// The bound cell with the most GPUs left; null if none has any.
HivedPool::Bound* HivedPool::emptiest(Cluster& cluster) {
  Bound* best = nullptr;
  int most = 0;
  for (Bound& cell : cluster.bound) {
    const int left = count(cell.gpus, &Gpu::can_be_claimed);
    if (left > most) {
      best = &cell;
      most = left;
    }
  }
  return best;
}

// Binds one more cell of the level, the one with the fewest GPUs down, then borrowed.
HivedPool::Bound* HivedPool::bind(Cluster& cluster, int level) {
  const auto cost = [this](const GpuRange& cell) {
    const int usable = count(cell, &Gpu::can_be_claimed);
    const int borrowed = usable - count(cell, &Gpu::is_idle);
    return usable == 0 ? HivedCells::kUnusable : (cell.count - usable) * cell.count + borrowed;
  };
  const auto cell = cells_.alloc(level, cost);
  return cell ? &enter(cluster, level, *cell) : nullptr;
}

// Writes a cell that was just taken into the cluster's books.
HivedPool::Bound& HivedPool::enter(Cluster& cluster, int level, const GpuRange& cell) {
  ++cluster.bound_count[at(level - 1)];
  for (int gpu = cell.first; gpu < end_of(cell); ++gpu) {
    gpus_[at(gpu)].is_bound = true;
  }
  const auto place = std::ranges::lower_bound(cluster.bound, cell.first, {},
                                              [](const Bound& each) { return each.gpus.first; });
  return *cluster.bound.insert(place, Bound{.level = level, .gpus = cell});
}

// Binds the smallest owed cell that is large enough, else the largest; null if none can be bound.
HivedPool::Bound* HivedPool::bind_for(Cluster& cluster, int gpus) {
  std::vector<int> levels;
  for (int level = 1; level <= cells_.levels(); ++level) {
    if (cluster.bound_count[at(level - 1)] < cluster.quota[at(level - 1)]) {
      levels.push_back(level);
    }
  }
  const auto enough =
      std::ranges::find_if(levels, [&](int level) { return cells_.size(level) >= gpus; });
  for (auto each = enough; each != levels.end(); ++each) {
    if (Bound* cell = bind(cluster, *each)) {
      return cell;
    }
  }
  for (auto each = enough; each != levels.begin();) {
    if (Bound* cell = bind(cluster, *--each)) {
      return cell;
    }
  }
  return nullptr;
}

void HivedPool::unbind_unused(Cluster& cluster) {
  std::erase_if(cluster.bound, [&](const Bound& cell) {
    if (cell.used > 0) {
      return false;
    }
    --cluster.bound_count[at(cell.level - 1)];
    for (int gpu = cell.gpus.first; gpu < end_of(cell.gpus); ++gpu) {
      gpus_[at(gpu)].is_bound = false;
    }
    cells_.release(cell.level, cell.gpus);
    return true;
  });
}

// Takes up to so many GPUs of a bound cell, those that nobody borrows first.
void HivedPool::claim_from(Bound& cell, int gpus, Claim& claim) {
  GpuRanges taken;
  int missing = gpus;
  for (const bool borrowed : {false, true}) {
    GpuRanges some;
    for (int gpu = cell.gpus.first; gpu < end_of(cell.gpus) && missing > 0; ++gpu) {
      Gpu& each = gpus_[at(gpu)];
      if (!each.can_be_claimed() || each.borrower.has_value() != borrowed) {
        continue;
      }
      each.is_claimed = true;
      append(some, gpu);
      --missing;
      if (borrowed) {
        claim.in_the_way.push_back(*each.borrower);
      }
    }
    taken = joined(taken, some);
  }
  cell.used += total(taken);
  claim.gpus = joined(claim.gpus, taken);
}

std::optional<HivedPool::Claim> HivedPool::claim(int cluster, int gpus,
                                                 std::span<const GpuRange> own) {
  Cluster& mine = clusters_.at(at(cluster));
  Claim claim;
  while (total(claim.gpus) < gpus) {
    const int missing = gpus - total(claim.gpus);
    Bound* cell = fullest(mine, missing, own);
    if (cell == nullptr) {
      cell = bind_for(mine, missing);
    }
    if (cell == nullptr) {
      cell = emptiest(mine);
    }
    if (cell == nullptr) {
      give_back(cluster, claim.gpus);
      return std::nullopt;
    }
    claim_from(*cell, missing, claim);
  }
  std::ranges::sort(claim.in_the_way);
  claim.in_the_way.erase(std::unique(claim.in_the_way.begin(), claim.in_the_way.end()),
                         claim.in_the_way.end());
  return claim;
}

void HivedPool::give_back(int cluster, std::span<const GpuRange> gpus) {
  Cluster& mine = clusters_.at(at(cluster));
  for (const GpuRange& range : gpus) {
    for (int gpu = range.first; gpu < end_of(range); ++gpu) {
      RUBATO_CHECK(gpus_[at(gpu)].is_claimed);
      gpus_[at(gpu)].is_claimed = false;
    }
  }
  for (Bound& cell : mine.bound) {
    cell.used -= overlap(gpus, cell.gpus);
  }
  unbind_unused(mine);
}

// Adds idle GPUs of one node, those outside of bound cells first.
void HivedPool::borrow_from(int node, int gpus, GpuRanges& into) const {
  const GpuRange& range = nodes_[at(node)];
  int missing = gpus;
  for (const bool bound : {false, true}) {
    GpuRanges some;
    for (int gpu = range.first; gpu < end_of(range) && missing > 0; ++gpu) {
      const Gpu& each = gpus_[at(gpu)];
      if (each.is_idle() && each.is_bound == bound) {
        append(some, gpu);
        --missing;
      }
    }
    into = joined(into, some);
  }
}

std::optional<GpuRanges> HivedPool::borrow(JobId job, int gpus, std::span<const GpuRange> own) {
  struct Choice {
    bool is_far = false;  // From the job's own GPUs.
    int bound = 0;
    int idle = 0;
    int node = 0;
  };
  std::vector<Choice> choices;
  int idle = 0;
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
    const GpuRange& range = nodes_[at(node)];
    const Choice choice{.is_far = overlap(own, range) == 0,
                        .bound = static_cast<int>(std::count_if(
                            gpus_.begin() + range.first, gpus_.begin() + end_of(range),
                            [](const Gpu& gpu) { return gpu.is_bound; })),
                        .idle = count(range, &Gpu::is_idle),
                        .node = node};
    idle += choice.idle;
    choices.push_back(choice);
  }
  if (idle < gpus) {
    return std::nullopt;
  }
  // One node that has enough, the fullest among those far from bound cells; else the emptiest ones.
  std::ranges::sort(choices, {}, [gpus](const Choice& choice) {
    const bool fits = choice.idle >= gpus;
    return std::tuple(!fits, choice.is_far, choice.bound, fits ? choice.idle : -choice.idle,
                      choice.node);
  });
  GpuRanges found;
  for (const Choice& choice : choices) {
    const int missing = gpus - total(found);
    borrow_from(choice.node, std::min(missing, choice.idle), found);
  }
  borrow_again(job, found);
  return found;
}

void HivedPool::give_back(std::span<const GpuRange> borrowed) {
  for (const GpuRange& range : borrowed) {
    for (int gpu = range.first; gpu < end_of(range); ++gpu) {
      RUBATO_CHECK(gpus_[at(gpu)].borrower.has_value());
      gpus_[at(gpu)].borrower.reset();
    }
  }
}

GpuRanges HivedPool::part_to_keep(std::span<const GpuRange> own, int gpus) const {
  std::vector<std::pair<int, int>> pieces;  // GPUs, less than none: most come first. Then node.
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
    if (const int held = overlap(own, nodes_[at(node)]); held > 0) {
      pieces.emplace_back(-held, node);
    }
  }
  std::ranges::sort(pieces);
  GpuRanges kept;
  for (const auto& [held, node] : pieces) {
    GpuRanges some;
    for (const GpuRange& range : inside(own, nodes_[at(node)])) {
      const int missing = gpus - total(kept) - total(some);
      if (missing > 0) {
        some.push_back({.first = range.first, .count = std::min(range.count, missing)});
      }
    }
    kept = joined(kept, some);
  }
  return kept;
}

std::vector<HivedPool::Lent> HivedPool::lent() const {
  std::vector<Lent> cells;
  for (std::size_t i = 0; i < clusters_.size(); ++i) {
    for (const Bound& cell : clusters_[i].bound) {
      cells.push_back(
          {.cluster = static_cast<int>(i), .level = cell.level, .first = cell.gpus.first});
    }
  }
  return cells;
}

bool HivedPool::lend_again(const Lent& cell) {
  if (cell.cluster < 0 || at(cell.cluster) >= clusters_.size() || cell.level < 1 ||
      cell.level > cells_.levels()) {
    return false;
  }
  Cluster& cluster = clusters_[at(cell.cluster)];
  const auto level = at(cell.level - 1);
  if (cluster.bound_count[level] >= cluster.quota[level] || !cells_.take(cell.level, cell.first)) {
    return false;
  }
  enter(cluster, cell.level, {.first = cell.first, .count = cells_.size(cell.level)});
  return true;
}

bool HivedPool::claim_again(int cluster, std::span<const GpuRange> gpus) {
  if (cluster < 0 || at(cluster) >= clusters_.size()) {
    return false;
  }
  int inside_cells = 0;
  for (Bound& cell : clusters_[at(cluster)].bound) {
    const int used = overlap(gpus, cell.gpus);
    cell.used += used;
    inside_cells += used;
  }
  for (const GpuRange& range : gpus) {
    for (int gpu = range.first; gpu < end_of(range); ++gpu) {
      gpus_[at(gpu)].is_claimed = true;
    }
  }
  return inside_cells == total(gpus);
}

void HivedPool::borrow_again(JobId job, std::span<const GpuRange> gpus) {
  for (const GpuRange& range : gpus) {
    for (int gpu = range.first; gpu < end_of(range); ++gpu) {
      gpus_[at(gpu)].borrower = job;
    }
  }
}

bool HivedPool::is_settled() const {
  return std::ranges::all_of(clusters_, [](const Cluster& cluster) {
    return std::ranges::all_of(cluster.bound, [](const Bound& cell) { return cell.used > 0; });
  });
}

void HivedPool::set_node(int number, bool up) {
  const GpuRange& range = nodes_.at(at(number));
  for (int gpu = range.first; gpu < end_of(range); ++gpu) {
    RUBATO_CHECK(!gpus_[at(gpu)].is_claimed && !gpus_[at(gpu)].borrower);
    gpus_[at(gpu)].is_up = up;
  }
}

}  // namespace rubato
