// One option for each item under several capacities: least total cost, found by prices.
//
// The multiple-choice knapsack with a room for each pool. Prices on the pools are raised until the
// cheapest options fit (a Lagrangian dual, ascended price by price); what is left of each room is
// then filled by the best upgrades, and the items that were hardest to decide are decided together
// by an integer program. With one pool use knapsack.h, which is exact.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rubato::policy::goodput {

struct PricedOption {
  std::size_t pool = 0;
  int weight = 0;  // Zero takes nothing, wherever.
  double cost = 0;
};

/// The first option must weigh nothing, so that there is always an answer.
using PricedItem = std::vector<PricedOption>;

struct PricedChoice {
  std::vector<std::size_t> options{};  // One for each item.
  double cost = 0;
  double bound = 0;  // No choice costs less.
};

/// Deterministic. `rooms` by pool.
[[nodiscard]] PricedChoice choose_priced(std::span<const PricedItem> items,
                                         std::span<const int> rooms);

}  // namespace rubato::policy::goodput
