// Shares out GPUs block by block, each block to the job that wins a scan of pairwise contests.
//
// AFS (NSDI'21): start from the first candidate, let every other one challenge the leader in turn,
// give the last leader its next GPUs, and begin again until nobody can take more. The scan order is
// the order of the sharers. Costs jobs times blocks, as the rule is not transitive and so cannot be
// kept in a heap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "rubato/policy/afs/pair_rule.h"

namespace rubato::policy::afs {

/// A job that takes part. Borrows its steps.
struct Sharer {
  std::span<const ScalingPoint> steps{};  // Counts it may have, rising in workers and in speed.
  double work = 0;                        // Steps left, at these speeds.
  std::size_t taken = 0;                  // How many of `steps` it has climbed.

  [[nodiscard]] ScalingPoint now() const { return taken == 0 ? ScalingPoint{} : steps[taken - 1]; }
  [[nodiscard]] bool can_grow() const { return taken < steps.size(); }
  [[nodiscard]] int next_gpus() const { return steps[taken].workers - now().workers; }
  /// Time left on the smallest count.
  [[nodiscard]] double smallest_length() const { return work / steps.front().speed; }
};

/// One who may still win the next GPUs.
struct PairContender {
  std::size_t sharer = 0;
  int gpus = 0;  // Of its next block; kNoBlock if it can take no more.
  GrowthBid bid{};

  static constexpr int kNoBlock = std::numeric_limits<int>::max();
};

/// What the sharer bids for next.
[[nodiscard]] PairContender contender_of(const Sharer& sharer, std::size_t index);

/// `beats(challenger, leader)` takes two Contenders. Returns the GPUs nobody could use.
///
/// Who led the scan at each place is remembered: a grant changes only the winner's bid, so the next
/// scan begins where the winner stands, unless GPUs have become too few for some.
template <typename Beats>
int share_by_pairs(std::span<Sharer> sharers, int gpus_free, Beats beats) {
  constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();
  std::vector<PairContender> contenders;
  int largest_block = 0;
  for (std::size_t i = 0; i < sharers.size(); ++i) {
    if (sharers[i].can_grow()) {
      contenders.push_back(contender_of(sharers[i], i));
      largest_block = std::max(largest_block, contenders.back().gpus);
    }
  }
  std::vector<std::size_t> leaders(contenders.size() + 1, kNobody);  // Before each place.
  std::size_t start = 0;
  while (true) {
    for (std::size_t i = start; i < contenders.size(); ++i) {
      const std::size_t leader = leaders[i];
      const bool fits = contenders[i].gpus <= gpus_free;
      const bool wins = fits && (leader == kNobody || beats(std::as_const(contenders[i]),
                                                            std::as_const(contenders[leader])));
      leaders[i + 1] = wins ? i : leader;
    }
    const std::size_t winner = leaders.back();
    if (winner == kNobody) {
      return gpus_free;
    }
    PairContender& grown = contenders[winner];
    gpus_free -= grown.gpus;
    ++sharers[grown.sharer].taken;
    grown = contender_of(sharers[grown.sharer], grown.sharer);
    largest_block = std::max(largest_block, grown.gpus == PairContender::kNoBlock ? 0 : grown.gpus);
    start = gpus_free < largest_block ? 0 : winner;
  }
}

/// Gives the sharers their smallest counts in this order; who does not fit is passed over. Returns
/// the GPUs left.
[[nodiscard]] int give_smallest(std::span<Sharer> sharers, std::span<const std::size_t> order,
                                int gpus_free);

}  // namespace rubato::policy::afs
