#include "rubato/policy/goodput/priced_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "rubato/base/random.h"
#include "rubato/solve/linear_program.h"

namespace rubato::policy::goodput {
namespace {

// Jobs that gain less and less from each doubling, on up to three kinds of GPU.
std::vector<PricedItem> random_items(Random& random, std::size_t count, std::size_t pools,
                                     int weight_max) {
  std::vector<PricedItem> items;
  for (std::size_t i = 0; i < count; ++i) {
    PricedItem item = {{.cost = 1.1}};
    for (std::size_t pool = 0; pool < pools; ++pool) {
      const double speed = random.uniform(1, 6);
      const double scaling = random.uniform(0.3, 0.95);
      for (int weight = 1; weight <= weight_max; weight *= 2) {
        const double goodput = speed * std::pow(weight, scaling);
        item.push_back({.pool = pool, .weight = weight, .cost = 1 / std::sqrt(goodput)});
      }
    }
    items.push_back(std::move(item));
  }
  return items;
}

bool fits(const std::vector<PricedItem>& items, const PricedChoice& choice,
          const std::vector<int>& rooms) {
  std::vector<int> used(rooms.size(), 0);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const PricedOption& option = items[i][choice.options[i]];
    used[option.pool] += option.weight;
  }
  return std::ranges::equal(used, rooms, std::less_equal{});
}

double optimum(const std::vector<PricedItem>& items, const std::vector<int>& rooms) {
  LinearProgram program(Goal::Minimise);
  std::vector<std::vector<Term>> use(rooms.size());
  for (const PricedItem& item : items) {
    std::vector<Term> one;
    for (const PricedOption& option : item) {
      const std::size_t variable =
          program.add({.upper = 1, .worth = option.cost, .is_integer = true});
      one.push_back({.variable = variable, .factor = 1});
      use[option.pool].push_back({.variable = variable, .factor = 1.0 * option.weight});
    }
    program.add_row(one, Relation::Equal, 1);
  }
  for (std::size_t pool = 0; pool < rooms.size(); ++pool) {
    program.add_row(use[pool], Relation::AtMost, rooms[pool]);
  }
  return solve(program, {.nodes_max = 20'000, .iterations_max = 2'000'000}).objective;
}

TEST(PricedChoice, TakesTheCheapestIfEverythingFits) {
  const std::vector<PricedItem> items = {
      {{.cost = 2}, {.pool = 0, .weight = 1, .cost = 1}, {.pool = 1, .weight = 2, .cost = 0.5}}};

  const PricedChoice choice = choose_priced(items, std::vector{4, 4});

  EXPECT_EQ(choice.options.front(), 2U);
  EXPECT_EQ(choice.cost, 0.5);
}

TEST(PricedChoice, LeavesOutWhoProfitsLeast) {
  const std::vector<PricedItem> items = {{{.cost = 1}, {.pool = 0, .weight = 1, .cost = 0.5}},
                                         {{.cost = 1}, {.pool = 0, .weight = 1, .cost = 0.1}}};

  const PricedChoice choice = choose_priced(items, std::vector{1});

  EXPECT_EQ(choice.options, (std::vector<std::size_t>{0, 1}));
}

TEST(PricedChoice, NeedsNoRoomAtAll) {
  const std::vector<PricedItem> items = {{{.cost = 1}, {.pool = 0, .weight = 1, .cost = 0.5}}};

  EXPECT_EQ(choose_priced(items, std::vector{0}).cost, 1);
  EXPECT_TRUE(choose_priced({}, std::vector{4}).options.empty());
}

TEST(PricedChoice, IsWithinOnePercentOfTheIntegerProgram) {
  Random random(11);
  for (int round = 0; round < 25; ++round) {
    const auto items = random_items(random, static_cast<std::size_t>(random.integer(4, 40)),
                                    static_cast<std::size_t>(random.integer(1, 3)), 16);
    std::vector<int> rooms;
    for (int pool = 0; pool < 3; ++pool) {
      rooms.push_back(static_cast<int>(random.integer(4, 40)));
    }

    const PricedChoice choice = choose_priced(items, rooms);

    const double best = optimum(items, rooms);
    ASSERT_TRUE(fits(items, choice, rooms));
    ASSERT_LE(choice.cost, best * 1.01) << "round " << round;
    ASSERT_LE(choice.bound, best + 1e-6);
  }
}

// The least cost over every choice from the item at `from` on.
double best_by_trying(const std::vector<PricedItem>& items, std::vector<int>& rooms,
                      std::size_t from) {
  if (from == items.size()) {
    return 0;
  }
  double best = std::numeric_limits<double>::infinity();
  for (const PricedOption& option : items[from]) {
    if (option.weight <= rooms[option.pool]) {
      rooms[option.pool] -= option.weight;
      best = std::min(best, option.cost + best_by_trying(items, rooms, from + 1));
      rooms[option.pool] += option.weight;
    }
  }
  return best;
}

TEST(PricedChoice, IsWithinAThousandthOfTheBestInSmallWorlds) {
  Random random(13);
  for (int round = 0; round < 2'000; ++round) {
    const auto pools = static_cast<std::size_t>(random.integer(1, 3));
    const auto items =
        random_items(random, static_cast<std::size_t>(random.integer(1, 4)), pools, 4);
    std::vector<int> rooms;
    for (std::size_t pool = 0; pool < pools; ++pool) {
      rooms.push_back(static_cast<int>(random.integer(0, 6)));
    }

    const PricedChoice choice = choose_priced(items, rooms);

    ASSERT_TRUE(fits(items, choice, rooms)) << "round " << round;
    const double best = best_by_trying(items, rooms, 0);
    ASSERT_GE(choice.cost, best - 1e-9) << "round " << round;
    ASSERT_LE(choice.cost, best * (1 + 1e-3) + 1e-9) << "round " << round;
  }
}

TEST(PricedChoice, IsCloseToItsBoundForManyItems) {
  Random random(12);
  const std::vector<int> rooms = {400, 300, 324};
  const auto items = random_items(random, 1024, 3, 64);

  const PricedChoice choice = choose_priced(items, rooms);

  EXPECT_TRUE(fits(items, choice, rooms));
  EXPECT_LE(choice.cost, choice.bound * 1.005);
}

}  // namespace
}  // namespace rubato::policy::goodput
