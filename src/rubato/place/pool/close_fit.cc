#include "rubato/place/pool/close_fit.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "rubato/base/check.h"

namespace rubato {
namespace {

bool is_power_of_two(int number) { return std::has_single_bit(static_cast<unsigned>(number)); }

int power_of_two_within(int number) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(number)));
}

// GPUs gathered piece by piece; each is taken from the pool at once.
class Gathering {
 public:
  Gathering(PoolSpace& space, int gpus) : space_(space), missing_(gpus) {}

  [[nodiscard]] int missing() const { return missing_; }
  [[nodiscard]] GpuRanges all() const { return joined(gathered_, {}); }

  void add(std::span<const GpuRange> ranges) {
    space_.take(ranges);
    gathered_.insert(gathered_.end(), ranges.begin(), ranges.end());
    missing_ -= total(ranges);
  }
  void add_from_node(int node) { add(take_plan(node, std::min(missing_, space_.node(node).free))); }
  // Whole nodes of a rack in the longest aligned runs that are wanted.
  void add_whole_nodes(int rack) {
    const int gpus_per_node = space_.gpus_per_node();
    while (missing_ >= gpus_per_node && space_.rack(rack).whole > 0) {
      const GpuRange scope = space_.rack(rack).gpus;
      const int nodes = power_of_two_within(missing_ / gpus_per_node);
      auto run = space_.tree().best_run(scope, nodes);
      if (!run) {
        run = space_.tree().longest_run(scope);
      }
      add(std::span(&*run, 1));
    }
  }
  // Whole nodes first, then the node that fits the rest best, or the emptiest ones.
  void add_from_rack(int rack) {
    add_whole_nodes(rack);
    while (missing_ > 0 && space_.rack(rack).free > 0) {
      const int fit = space_.fullest_node_in(rack, missing_);
      add_from_node(fit >= 0 ? fit : space_.emptiest_node_in(rack));
    }
  }
  // The racks with most whole nodes first; the rest wherever it fits best.
  void add_from_anywhere() {
    while (missing_ >= space_.gpus_per_node() && space_.emptiest_rack_of_whole() >= 0) {
      const int fit = space_.fullest_rack_of_whole(missing_ / space_.gpus_per_node(), 0);
      add_whole_nodes(fit >= 0 ? fit : space_.emptiest_rack_of_whole());
    }
    while (missing_ > 0) {
      const int fit = space_.fullest_node(missing_);
      add_from_node(fit >= 0 ? fit : space_.emptiest_node());
    }
  }

 private:
  // Free GPUs of one node: an aligned block if there is one.
  [[nodiscard]] GpuRanges take_plan(int node, int gpus) {
    const GpuRange scope = space_.node(node).gpus;
    if (is_power_of_two(gpus)) {
      if (const auto block = space_.tree().best_block(scope, gpus)) {
        return {*block};
      }
    }
    return space_.tree().pick(scope, gpus);
  }

  PoolSpace& space_;
  GpuRanges gathered_;
  int missing_ = 0;
};

// The node for a request that fits into one: a used one if possible, else from the shortest run.
int best_node(PoolSpace& space, int gpus) {
  const int fullest = space.fullest_node(gpus);
  if (fullest < 0 || space.node(fullest).free < space.gpus_per_node()) {
    return fullest;
  }
  return space.node_at(space.tree().best_run(space.gpus(), 1)->first);
}

// An aligned block in one node, or an aligned run of whole nodes in one rack.
std::optional<GpuRange> aligned_fit(PoolSpace& space, int gpus) {
  const int gpus_per_node = space.gpus_per_node();
  if (gpus <= gpus_per_node) {
    return is_power_of_two(gpus) ? space.tree().best_block(space.gpus(), gpus) : std::nullopt;
  }
  const int nodes = gpus / gpus_per_node;
  return gpus % gpus_per_node == 0 && is_power_of_two(nodes)
             ? space.tree().best_run(space.gpus(), nodes)
             : std::nullopt;
}

// The rack for a request that fits into no node; -1 if no rack has enough.
int best_rack(const PoolSpace& space, int gpus) {
  const int gpus_per_node = space.gpus_per_node();
  const int rounded_up = (gpus + gpus_per_node - 1) / gpus_per_node;
  for (const int whole : {rounded_up, gpus / gpus_per_node}) {
    const int rack = space.fullest_rack_of_whole(whole, gpus);
    if (gpus > gpus_per_node && rack >= 0) {
      return rack;
    }
  }
  return space.fullest_rack(gpus);
}

struct Piece {
  int node = 0;
  int gpus = 0;
};

// What a job holds in each of its nodes, most first, then lowest first.
std::vector<Piece> pieces_of(const PoolSpace& space, std::span<const GpuRange> own) {
  std::vector<Piece> pieces;
  for (const int node : space.nodes_of(own)) {
    pieces.push_back({.node = node, .gpus = overlap(own, space.node(node).gpus)});
  }
  std::ranges::stable_sort(
      pieces, [](const Piece& left, const Piece& right) { return left.gpus > right.gpus; });
  return pieces;
}

// The pieces of the rack that holds enough with the fewest nodes; all pieces if no rack does.
std::vector<Piece> in_one_rack(const PoolSpace& space, const std::vector<Piece>& pieces, int gpus) {
  std::vector<Piece> best = pieces;
  std::size_t nodes_min = pieces.size() + 1;
  std::vector<int> tried;
  for (const Piece& piece : pieces) {
    const int rack = space.node(piece.node).rack;
    if (std::ranges::find(tried, rack) != tried.end()) {
      continue;
    }
    tried.push_back(rack);
    std::vector<Piece> here;
    int held = 0;
    for (const Piece& each : pieces) {
      if (space.node(each.node).rack == rack && held < gpus) {
        here.push_back(each);
        held += each.gpus;
      }
    }
    if (held >= gpus && here.size() < nodes_min) {
      nodes_min = here.size();
      std::erase_if(best = pieces,
                    [&](const Piece& each) { return space.node(each.node).rack != rack; });
    }
  }
  return best;
}

}  // namespace

GpuRanges take_close(PoolSpace& space, int gpus) {
  RUBATO_CHECK(gpus > 0 && gpus <= space.free_gpus());
  Gathering gathering(space, gpus);
  if (const auto block = aligned_fit(space, gpus)) {
    gathering.add(std::span(&*block, 1));
  } else if (const int node = best_node(space, gpus); node >= 0) {
    gathering.add_from_node(node);
  } else if (const int rack = best_rack(space, gpus); rack >= 0) {
    gathering.add_from_rack(rack);
  } else {
    gathering.add_from_anywhere();
  }
  return gathering.all();
}

GpuRanges take_in_node(PoolSpace& space, int node, std::span<const GpuRange> own, int gpus) {
  const GpuRanges here = inside(own, space.node(node).gpus);
  if (here.empty()) {
    Gathering gathering(space, gpus);
    gathering.add_from_node(node);
    RUBATO_CHECK(gathering.missing() == 0);
    return gathering.all();
  }
  GpuRanges found = space.tree().pick_near(space.node(node).gpus, here, gpus);
  RUBATO_CHECK(total(found) == gpus);
  space.take(found);
  return found;
}

GpuRanges take_near(PoolSpace& space, std::span<const GpuRange> own, int gpus) {
  RUBATO_CHECK(gpus > 0 && gpus <= space.free_gpus());
  Gathering gathering(space, gpus);
  if (const auto block = space.tree().block_around(own, total(own) + gpus)) {
    const GpuRanges buddies = without(std::span(&*block, 1), own);
    if (space.tree().free_in(*block) == gpus) {
      gathering.add(buddies);
      return gathering.all();
    }
  }
  for (const int node : space.nodes_of(own)) {
    const int more = std::min(gathering.missing(), space.node(node).free);
    if (more > 0) {
      gathering.add(
          space.tree().pick_near(space.node(node).gpus, inside(own, space.node(node).gpus), more));
    }
  }
  if (const Closeness now = space.closeness(own); now.span != Locality::Across) {
    gathering.add_from_rack(space.node(space.node_at(own.front().first)).rack);
  }
  gathering.add_from_anywhere();
  return gathering.all();
}

GpuRanges part_to_keep(PoolSpace& space, std::span<const GpuRange> own, int gpus) {
  std::vector<Piece> pieces = in_one_rack(space, pieces_of(space, own), gpus);
  GpuRanges kept;
  for (int missing = gpus; missing > 0;) {
    // The smallest piece that has all that is missing, else the largest one; then the lowest.
    const auto after =
        std::ranges::find_if(pieces, [missing](const Piece& each) { return each.gpus < missing; });
    const int wanted = after == pieces.begin() ? after->gpus : (after - 1)->gpus;
    const auto piece = std::ranges::find(pieces, wanted, &Piece::gpus);
    const int part = std::min(missing, piece->gpus);
    kept = joined(kept, space.tree().keep(space.node(piece->node).gpus, own, part));
    missing -= part;
    pieces.erase(piece);
  }
  return kept;
}

}  // namespace rubato
