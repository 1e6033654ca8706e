#include "rubato/policy/artifact/round_charges.h"

#include <algorithm>

namespace rubato::policy::artifact {
namespace {

constexpr int kWidest = 1024;       // Workers of the widest job the charge must hold for.
constexpr long kRoundsToLearn = 5;  // Before that many the rate of rounds is a guess.
constexpr double kGapGuess = 600;   // Seconds between rounds until then.

}  // namespace

void RoundCharges::held(Instant now) {
  first_ = rounds_ == 0 ? now : first_;
  ++rounds_;
}

void RoundCharges::restore(long rounds, Instant first) {
  rounds_ = rounds;
  first_ = first;
}

Duration RoundCharges::charge(const ResizeCost& costs, long round) {
  if (costs.accounting() != ResizeCostModel::Artifact) {
    return Duration{};
  }
  // A restart forgets every communication group: who is changed then pays for it, and in the round
  // after it everyone pays for a new group.
  const long since_restart = round % costs.rounds_between_restarts();
  const bool restarts = round > 0 && since_restart == 0;
  const bool after_restart = round > 1 && since_restart == 1;
  return costs.artifact(kWidest, /*known_set=*/!restarts && !after_restart, restarts);
}

Duration RoundCharges::restarts(const ResizeCost& costs, std::size_t rounds_after) const {
  if (costs.accounting() != ResizeCostModel::Artifact) {
    return Duration{};
  }
  const long between = costs.rounds_between_restarts();
  const long last = rounds_ + static_cast<long>(rounds_after);
  const long restarts = last / between - rounds_ / between;
  // Rounds after a restart; if every round is one there are none, and then this counts them twice.
  const long after = (last - 1) / between - (rounds_ - 1) / between;
  return restarts * (charge(costs, between) - ordinary(costs)) +
         after * (charge(costs, between + 1) - ordinary(costs));
}

double RoundCharges::expected(Instant now, Duration window, Duration slot) const {
  const double gap = rounds_ < kRoundsToLearn
                         ? kGapGuess
                         : to_seconds(now - first_) / static_cast<double>(rounds_);
  return to_seconds(window) / std::max(gap, to_seconds(slot));
}

}  // namespace rubato::policy::artifact
