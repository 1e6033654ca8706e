#include "rubato/policy/baseline/dominant_share.h"

#include <algorithm>
#include <utility>

#include "rubato/base/check.h"

namespace rubato::policy::baseline {

DominantShares::DominantShares(std::vector<double> capacity, std::vector<double> weights)
    : capacity_(std::move(capacity)),
      free_(capacity_),
      weights_(std::move(weights)),
      held_(weights_.size(), std::vector<double>(capacity_.size(), 0)),
      shares_(weights_.size(), 0) {}

bool DominantShares::fits(std::span<const double> demand) const {
  for (std::size_t r = 0; r < demand.size(); ++r) {
    if (demand[r] > free_[r]) {
      return false;
    }
  }
  return true;
}

void DominantShares::give(std::size_t user, std::span<const double> demand) {
  RUBATO_CHECK(fits(demand));
  for (std::size_t r = 0; r < demand.size(); ++r) {
    if (demand[r] > 0) {
      free_[r] -= demand[r];
      held_[user][r] += demand[r];
      shares_[user] = std::max(shares_[user], held_[user][r] / capacity_[r] / weights_[user]);
    }
  }
}

std::size_t DominantShares::poorest(const std::vector<bool>& is_served) const {
  std::size_t poorest = users();
  for (std::size_t user = 0; user < users(); ++user) {
    if (is_served[user] && (poorest == users() || shares_[user] < shares_[poorest])) {
      poorest = user;
    }
  }
  return poorest;
}

}  // namespace rubato::policy::baseline
