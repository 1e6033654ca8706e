#include "rubato/policy/goodput/knapsack.h"

#include <limits>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::goodput {
namespace {

double cost_of(const std::vector<KnapsackItem>& items, const std::vector<std::size_t>& chosen) {
  double cost = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    cost += items[i][chosen[i]].cost;
  }
  return cost;
}

int weight_of(const std::vector<KnapsackItem>& items, const std::vector<std::size_t>& chosen) {
  int weight = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    weight += items[i][chosen[i]].weight;
  }
  return weight;
}

// The least cost of the items from `next` on within `room`, by trying everything.
double least_cost(const std::vector<KnapsackItem>& items, std::size_t next, int room) {
  if (next == items.size()) {
    return 0;
  }
  double best = std::numeric_limits<double>::infinity();
  for (const KnapsackOption& option : items[next]) {
    if (option.weight <= room) {
      best = std::min(best, option.cost + least_cost(items, next + 1, room - option.weight));
    }
  }
  return best;
}

TEST(Knapsack, TakesTheCheapestOptionsIfTheyFit) {
  const std::vector<KnapsackItem> items = {{{0, 5}, {2, 1}}, {{0, 5}, {1, 2}, {3, 2}}};

  EXPECT_EQ(pack(items, 3), (std::vector<std::size_t>{1, 1}));
}

TEST(Knapsack, LeavesOutWhoGainsLeast) {
  const std::vector<KnapsackItem> items = {{{0, 5}, {2, 1}}, {{0, 5}, {2, 2}}};

  EXPECT_EQ(pack(items, 3), (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(pack(items, 0), (std::vector<std::size_t>{0, 0}));
}

TEST(Knapsack, IsAsGoodAsTryingEverything) {
  Random random(3);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<KnapsackItem> items(static_cast<std::size_t>(random.integer(0, 5)));
    for (KnapsackItem& item : items) {
      item.push_back({0, random.uniform(0, 10)});
      for (std::int64_t i = random.integer(0, 3); i > 0; --i) {
        item.push_back({static_cast<int>(random.integer(1, 6)), random.uniform(0, 10)});
      }
    }
    const int room = static_cast<int>(random.integer(0, 12));

    const auto chosen = pack(items, room);

    ASSERT_LE(weight_of(items, chosen), room);
    ASSERT_NEAR(cost_of(items, chosen), least_cost(items, 0, room), 1e-9) << "round " << round;
  }
}

}  // namespace
}  // namespace rubato::policy::goodput
