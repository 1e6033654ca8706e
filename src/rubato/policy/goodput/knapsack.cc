#include "rubato/policy/goodput/knapsack.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "rubato/base/check.h"

namespace rubato::policy::goodput {
namespace {

// The cheapest option of an item, the lightest among equals.
std::size_t cheapest(const KnapsackItem& item) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < item.size(); ++i) {
    const bool is_lighter = item[i].cost == item[best].cost && item[i].weight < item[best].weight;
    best = item[i].cost < item[best].cost || is_lighter ? i : best;
  }
  return best;
}

// From the least costs without the item to those with it; `taken` says which option they took.
void add_item(const KnapsackItem& item, const std::vector<double>& best, std::vector<double>& next,
              std::span<std::uint16_t> taken) {
  std::ranges::fill(next, std::numeric_limits<double>::infinity());
  for (std::size_t option = 0; option < item.size(); ++option) {
    const auto least = static_cast<std::size_t>(item[option].weight);
    for (std::size_t weight = least; weight < best.size(); ++weight) {
      const double total = best[weight - least] + item[option].cost;
      if (total < next[weight]) {
        next[weight] = total;
        taken[weight] = static_cast<std::uint16_t>(option);
      }
    }
  }
}

}  // namespace

std::vector<std::size_t> pack(std::span<const KnapsackItem> items, int room) {
  std::vector<std::size_t> chosen;
  std::int64_t weight = 0;
  for (const KnapsackItem& item : items) {
    RUBATO_CHECK(!item.empty() && item.front().weight == 0);
    chosen.push_back(cheapest(item));
    weight += item[chosen.back()].weight;
  }
  if (weight <= room) {
    return chosen;
  }
  // best[w]: least cost of the items so far within weight w; `options` says what the last one took.
  const auto width = static_cast<std::size_t>(room) + 1;
  std::vector<double> best(width, 0);
  std::vector<double> next(width);
  std::vector<std::uint16_t> options(items.size() * width);
  for (std::size_t i = 0; i < items.size(); ++i) {
    add_item(items[i], best, next, std::span(options).subspan(i * width, width));
    std::swap(best, next);
  }
  std::size_t left = width - 1;
  for (std::size_t i = items.size(); i-- > 0;) {
    chosen[i] = options[i * width + left];
    left -= static_cast<std::size_t>(items[i][chosen[i]].weight);
  }
  return chosen;
}

}  // namespace rubato::policy::goodput
