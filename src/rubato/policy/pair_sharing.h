// Shares out GPUs block by block, each block to the job that wins a scan of pairwise contests.
//
// AFS (NSDI'21): start from the first candidate, let every other one challenge the leader in turn,
// give the last leader its next GPUs, and begin again until nobody can take more. The scan order is
// the order of the sharers. Costs jobs times blocks, as the rule is not transitive and so cannot be
// kept in a heap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "rubato/policy/pair_rule.h"

namespace rubato {

/// A job that takes part.
struct Sharer {
  std::vector<ScalingPoint> steps{};  // Counts it may have, rising in workers and in speed.
  double work = 0;                    // Steps left, at these speeds.
  std::size_t taken = 0;              // How many of `steps` it has climbed.

  [[nodiscard]] ScalingPoint now() const { return taken == 0 ? ScalingPoint{} : steps[taken - 1]; }
  [[nodiscard]] bool can_grow() const { return taken < steps.size(); }
  [[nodiscard]] int next_gpus() const { return steps[taken].workers - now().workers; }
  /// Time left on the smallest count.
  [[nodiscard]] double smallest_length() const { return work / steps.front().speed; }
};

/// One who may still win the next GPUs.
struct Contender {
  std::size_t sharer = 0;
  int gpus = 0;  // Of its next block.
  Bid bid{};
};

/// `beats(challenger, leader)` takes two Contenders. Returns the GPUs nobody could use.
template <typename Beats>
int share_by_pairs(std::span<Sharer> sharers, int gpus_free, Beats beats) {
  std::vector<Contender> contenders;
  const auto contender = [&](std::size_t i) {
    const Sharer& sharer = sharers[i];
    return Contender{.sharer = i,
                     .gpus = sharer.next_gpus(),
                     .bid = bid_of(sharer.work, sharer.now(), sharer.steps[sharer.taken])};
  };
  for (std::size_t i = 0; i < sharers.size(); ++i) {
    if (sharers[i].can_grow()) {
      contenders.push_back(contender(i));
    }
  }
  while (true) {
    // Free GPUs only become fewer, so who does not fit now is out.
    std::erase_if(contenders, [&](const Contender& one) { return one.gpus > gpus_free; });
    if (contenders.empty()) {
      return gpus_free;
    }
    std::size_t leader = 0;
    for (std::size_t i = 1; i < contenders.size(); ++i) {
      leader = beats(std::as_const(contenders[i]), std::as_const(contenders[leader])) ? i : leader;
    }
    const std::size_t winner = contenders[leader].sharer;
    gpus_free -= contenders[leader].gpus;
    ++sharers[winner].taken;
    if (sharers[winner].can_grow()) {
      contenders[leader] = contender(winner);
    } else {
      contenders.erase(contenders.begin() + static_cast<std::ptrdiff_t>(leader));
    }
  }
}

/// Gives the sharers their smallest counts in this order; who does not fit is passed over. Returns
/// the GPUs left.
[[nodiscard]] int give_smallest(std::span<Sharer> sharers, std::span<const std::size_t> order,
                                int gpus_free);

}  // namespace rubato
