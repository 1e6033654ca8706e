// Buddy cells: groups of neighbouring GPUs that split into equal parts and merge again.
//
// HiveD (OSDI'20, section 4, algorithm 1). Level 1 is a single GPU; a cell of level k+1 is made of
// a fixed number of buddies of level k, up to switches, nodes and racks. A cell is cut only if no
// free one of its level is left, and buddies merge as soon as all of them are free. So if the cells
// owed to everybody can be laid out in the empty cluster at all, whoever asks for a cell still owed
// to him gets one, whatever was asked and given back before (theorem 1 of the paper).
//
// One difference: a caller may call a cell unusable (its nodes are down). Such cells are passed
// over and a larger one is cut instead, which can use up what the theorem counts on.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "rubato/core/placement.h"
#include "rubato/core/topology.h"

namespace rubato {

/// What taking a cell would cost; the cheapest free cell of a level is taken, then the lowest.
using CellCost = std::function<int(const GpuRange&)>;

/// Taking and giving back cost O(levels), and O(free cells of a level) to compare costs.
class HivedCells {
 public:
  static constexpr int kUnusable = 1 << 30;  // A cost at which a cell is not taken.

  /// `fan_outs[i]` cells of level i+1 make one of level i+2; there are `tops` of the last level.
  HivedCells(const std::vector<int>& fan_outs, int tops);
  /// GPUs pair up inside switches, switches inside nodes, nodes inside racks. If racks are unequal
  /// the nodes are the highest cells; if nodes are, the largest cells that fill all of them.
  static HivedCells of(const Topology& topology, PoolId pool);

  [[nodiscard]] int levels() const { return static_cast<int>(sizes_.size()); }
  /// GPUs of a cell.
  [[nodiscard]] int size(int level) const;
  /// The level of cells of this many GPUs; 0 if there is none.
  [[nodiscard]] int level_of(int gpus) const;
  [[nodiscard]] int gpus() const { return tops_ * sizes_.back(); }

  /// A free cell of the level, from now on taken; nothing if all are.
  [[nodiscard]] std::optional<GpuRange> alloc(int level, const CellCost& cost = {});
  /// Takes a certain cell; false, and nothing changed, if it is not wholly free or is none.
  [[nodiscard]] bool take(int level, int first);
  /// Gives back a cell that alloc() or take() gave.
  void release(int level, const GpuRange& cell);

  /// First GPUs of the free cells of a level that are no part of a larger free one.
  [[nodiscard]] const std::set<int>& free(int level) const;

  /// True if so many cells of each level (lowest first) can be taken from the empty cluster.
  [[nodiscard]] bool can_hold(std::span<const int> cells) const;

 private:
  [[nodiscard]] std::optional<int> cheapest(int level, const CellCost& cost) const;
  [[nodiscard]] int fan_out(int level) const { return size(level) / size(level - 1); }

  std::vector<int> sizes_;           // By level, lowest first.
  int tops_ = 0;                     // Cells of the highest level.
  std::vector<std::set<int>> free_;  // By level, first GPUs.
};

}  // namespace rubato
