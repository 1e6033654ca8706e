#include "rubato/policy/reconstructed/pick_conflict.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rubato/base/check.h"

namespace rubato::policy::reconstructed {

double room_for(std::span<const double> free, std::span<const double> demand) {
  double room = std::numeric_limits<double>::infinity();
  for (std::size_t r = 0; r < demand.size(); ++r) {
    if (demand[r] > 0) {
      room = std::min(room, free[r] / demand[r]);
    }
  }
  return room;
}

std::vector<double> posterior_of(std::span<const Pick> picks) {
  RUBATO_CHECK(!picks.empty());
  const double most = std::ranges::max(picks, {}, &Pick::room).room;
  std::vector<double> weights;
  double sum = 0;
  for (const Pick& pick : picks) {
    // Less the largest, so that nothing overflows; the quotient is the same.
    weights.push_back(pick.probability * std::exp(pick.room - most));
    sum += weights.back();
  }
  for (double& weight : weights) {
    weight = sum > 0 ? weight / sum : 1.0 / static_cast<double>(picks.size());
  }
  return weights;
}

std::size_t winner_of(std::span<const Pick> picks) {
  const std::vector<double> posterior = posterior_of(picks);
  return static_cast<std::size_t>(std::ranges::max_element(posterior) - posterior.begin());
}

}  // namespace rubato::policy::reconstructed
