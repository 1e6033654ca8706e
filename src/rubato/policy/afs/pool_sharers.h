// The jobs of one pool as sharers of its GPUs.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "rubato/policy/afs/pair_sharing.h"
#include "rubato/policy/rounds/round_policy.h"

namespace rubato::policy::afs {

/// Seats of one pool, in their order, and beside each the counts it may have.
struct PoolSharers {
  std::vector<rounds::Seat*> seats{};
  std::vector<Sharer> sharers{};
  std::map<SpeedId, std::vector<ScalingPoint>> packed{};  // Borrowed by the sharers of that kind.

  /// Writes what the sharers have taken into the seats.
  void seat_all() const;
};

/// Chooses a pool for every seat; one entry per pool. `packs`: only factors and multiples of the
/// GPUs of a node.
[[nodiscard]] std::vector<PoolSharers> sharers_by_pool(const View& view,
                                                       std::span<rounds::Seat> seats, bool packs);

}  // namespace rubato::policy::afs
