// What the published simulator remembers for its accounting: the GPU sets that were used.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "rubato/core/ids.h"
#include "rubato/core/placement.h"

namespace rubato {

/// Sets of GPUs.
using GpuGroups = std::set<std::pair<PoolId, std::vector<GpuRange>>>;

/// Communication groups, one per exact set of GPUs whichever job uses it, live until the trainer
/// processes restart, once in a fixed number of rounds.
class ArtifactMemory {
 public:
  explicit ArtifactMemory(int rounds_between_restarts) : restart_after_(rounds_between_restarts) {}

  /// True if this round restarts every trainer process; the first round never does.
  [[nodiscard]] bool restarts() const { return rounds_ > 0 && rounds_ % restart_after_ == 0; }
  /// True if these GPUs were a group already; from now on they are.
  bool use(const Placement& placement) {
    return !groups_.emplace(placement.pool, placement.ranges).second;
  }
  /// A restart forgets all groups, those of its own round too.
  void end_round() {
    if (restarts()) {
      groups_.clear();
    }
    ++rounds_;
  }

  [[nodiscard]] int rounds() const { return rounds_; }
  [[nodiscard]] const GpuGroups& groups() const { return groups_; }
  /// Goes on where another one was.
  void restore(int rounds, GpuGroups groups) {
    rounds_ = rounds;
    groups_ = std::move(groups);
  }

 private:
  int restart_after_;
  int rounds_ = 0;
  GpuGroups groups_;
};

}  // namespace rubato
