#include "rubato/policy/afs/pair_rule.h"

#include <cmath>
#include <limits>

namespace rubato::policy::afs {

GrowthBid bid_of(double work, const ScalingPoint& now, const ScalingPoint& next) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const double added = next.workers - now.workers;
  const bool has_gpus = now.workers > 0 && now.speed > 0;
  return GrowthBid{.length = has_gpus ? work / now.speed : kInfinite,
                   .length_after = work / next.speed,
                   .gain_if_short = has_gpus ? (next.speed / now.speed - 1) / added : kInfinite,
                   .gain_if_long = has_gpus ? (1 - now.speed / next.speed) / added : 1 / added};
}

bool beats_by_length(const GrowthBid& challenger, const GrowthBid& leader) {
  if (std::isinf(challenger.length) && std::isinf(leader.length)) {
    return challenger.length_after < leader.length_after;
  }
  if (challenger.length < leader.length) {
    return challenger.gain_if_short > leader.gain_if_long;
  }
  return leader.gain_if_short <= challenger.gain_if_long;
}

Winner winner_at_any_length(const GrowthBid& challenger, const GrowthBid& leader) {
  if (challenger.gain_if_long >= leader.gain_if_short) {
    return Winner::Challenger;
  }
  if (leader.gain_if_long >= challenger.gain_if_short) {
    return Winner::Leader;
  }
  return Winner::Open;
}

}  // namespace rubato::policy::afs
