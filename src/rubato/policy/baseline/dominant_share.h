// Dominant resource fairness: who has least of what it needs most is served next.
//
// Ghodsi et al., NSDI'11, algorithm 1: a user's dominant share is the largest part it holds of any
// resource, divided by its weight; the user with the smallest one gets its next task.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rubato::policy::baseline {

/// What users hold and what there is.
class DominantShares {
 public:
  /// Amounts of each resource there are, and one weight above zero for each user.
  DominantShares(std::vector<double> capacity, std::vector<double> weights);

  [[nodiscard]] bool fits(std::span<const double> demand) const;
  /// The demand must fit.
  void give(std::size_t user, std::span<const double> demand);

  [[nodiscard]] double share(std::size_t user) const { return shares_[user]; }
  /// The served one with the smallest share, ties by index; `users()` if none is served.
  [[nodiscard]] std::size_t poorest(const std::vector<bool>& is_served) const;
  [[nodiscard]] std::size_t users() const { return shares_.size(); }
  [[nodiscard]] double free(std::size_t resource) const { return free_[resource]; }

 private:
  std::vector<double> capacity_;
  std::vector<double> free_;
  std::vector<double> weights_;
  std::vector<std::vector<double>> held_;  // By user, then resource.
  std::vector<double> shares_;
};

}  // namespace rubato::policy::baseline
