// Multiple-choice knapsack: one option for each item, the least cost within the room there is.
#pragma once

#include <span>
#include <vector>

namespace rubato::policy::goodput {

struct KnapsackOption {
  int weight = 0;
  double cost = 0;
};

/// Options in any order; the first must weigh nothing, so that there is always an answer.
using KnapsackItem = std::vector<KnapsackOption>;

/// The option of each item: least total cost with a total weight of at most `room`. Exact. Costs
/// O(options * room) over all items; much less if everyone's cheapest option fits.
[[nodiscard]] std::vector<std::size_t> pack(std::span<const KnapsackItem> items, int room);

}  // namespace rubato::policy::goodput
