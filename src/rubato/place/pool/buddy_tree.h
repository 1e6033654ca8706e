// The free GPUs of one pool as a tree of buddy blocks that follows the machines.
//
// A cell is a run of neighbouring GPUs: GPUs pair up inside a switch, switches inside a node, nodes
// inside a rack, racks inside the pool; where a count is not a power of two the left part is the
// largest power of two below it. A block is a cell of a power of two of GPUs inside one node, or a
// run of a power of two of the pool's largest nodes inside one rack. Every cell knows the sizes of
// the largest free blocks under it as bits of one word, so the best fit is found on one way down.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rubato/core/topology.h"
#include "rubato/place/pool/gpu_ranges.h"

namespace rubato {

/// Looking and changing cost O(levels). A `scope` is the whole pool, one of its racks or nodes.
class BuddyTree {
 public:
  BuddyTree(const Topology& topology, PoolId pool);

  [[nodiscard]] int free_gpus() const { return cells_.empty() ? 0 : cells_.front().free; }

  /// All GPUs of the range must be free before `take`, and taken before `give`.
  void take(const GpuRange& range);
  void give(const GpuRange& range);

  [[nodiscard]] int free_in(const GpuRange& range) const;

  /// An aligned free block inside one node, cut from the smallest free block that holds it, the
  /// lowest such. `gpus` is a power of two.
  [[nodiscard]] std::optional<GpuRange> best_block(const GpuRange& scope, int gpus);
  /// An aligned run of free nodes in one rack, chosen likewise. `nodes` is a power of two.
  [[nodiscard]] std::optional<GpuRange> best_run(const GpuRange& scope, int nodes);
  /// The longest aligned run of free nodes in one rack.
  [[nodiscard]] std::optional<GpuRange> longest_run(const GpuRange& scope);

  /// `gpus` free ones under as few switches as possible. The scope must have that many free.
  [[nodiscard]] GpuRanges pick(const GpuRange& scope, int gpus);
  /// Up to `gpus` free ones, the nearest relatives of `own` first.
  [[nodiscard]] GpuRanges pick_near(const GpuRange& scope, std::span<const GpuRange> own, int gpus);
  /// The `gpus` of `own` that lie closest together; the rest gives back the largest blocks.
  [[nodiscard]] GpuRanges keep(const GpuRange& scope, std::span<const GpuRange> own, int gpus);

  /// The block of exactly this many GPUs that holds all of `own`.
  [[nodiscard]] std::optional<GpuRange> block_around(std::span<const GpuRange> own, int gpus) const;

 private:
  struct Cell {
    int first = 0;
    int size = 0;
    int right = 0;  // The left child stands right behind its parent; zero for a single GPU.
    int free = 0;   // If none or all are free, what the cells below say is out of date.
    std::uint32_t blocks = 0;            // Bit i: a largest free block of size class i is below.
    std::uint32_t blocks_when_free = 0;  // The same, when all is free.
  };
  enum class Level { Node, Rack, Pool };

  int build_node(const Node& node);
  int build_rack(const Topology& topology, std::span<const NodeId> nodes);
  template <typename Unit>
  int build(int low, int high, Level level, const Unit& unit);
  void join(int index, Level level);

  void mark(int index, const GpuRange& range, bool free);
  void open(int index);
  [[nodiscard]] int free_below(int index, const GpuRange& range) const;
  int find(const GpuRange& scope);
  int descend(int index, int size_class);
  std::optional<GpuRange> block_in_free_node(int index, int gpus);
  void pick_free(int index, int gpus, GpuRanges& into);
  int pick_around(int index, std::span<const GpuRange> own, int gpus, GpuRanges& into);
  void keep_own(int index, std::span<const GpuRange> own, int gpus, GpuRanges& into) const;

  std::vector<Cell> cells_;  // Parents before children; the first one is the whole pool.
  int gpus_per_node_ = 0;
};

}  // namespace rubato
