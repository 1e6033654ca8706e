#include "rubato/policy/pricing/slot_search.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/base/random.h"

namespace rubato::policy::pricing {
namespace {

/// A world small enough to try everything.
struct SlotCase {
  std::vector<double> prices{};  // Per worker, per slot.
  std::vector<int> free{};
  std::vector<double> values{};
  std::vector<int> gains{};  // Of 1, 2, ... workers.
  int units = 1;

  [[nodiscard]] int gain_of(int workers) const {
    return workers == 0 ? 0 : gains[static_cast<std::size_t>(workers) - 1];
  }
  [[nodiscard]] double value(int slot) const { return values[static_cast<std::size_t>(slot)]; }

  [[nodiscard]] std::vector<SlotChoice> choices(int slot) const {
    std::vector<SlotChoice> found;
    const auto t = static_cast<std::size_t>(slot);
    for (int y = 1; y <= free[t] && y <= static_cast<int>(gains.size()); ++y) {
      found.push_back({.workers = y, .gain = gain_of(y), .cost = prices[t] * y});
    }
    return found;
  }

  [[nodiscard]] SlotSearch search() const {
    return {.slots = static_cast<int>(prices.size()),
            .units = units,
            .choices = [this](int slot) { return choices(slot); },
            .value = [this](int slot) { return value(slot); }};
  }
};

// Every way to spend every slot.
std::optional<double> best_payoff(const SlotCase& given, int slot, int units, double cost) {
  if (units <= 0) {
    return given.value(slot - 1) - cost;
  }
  if (slot == static_cast<int>(given.prices.size())) {
    return std::nullopt;
  }
  std::optional<double> best = best_payoff(given, slot + 1, units, cost);
  for (const SlotChoice& choice : given.choices(slot)) {
    const auto found = best_payoff(given, slot + 1, units - choice.gain, cost + choice.cost);
    if (found && (!best || *found > *best)) {
      best = found;
    }
  }
  return best;
}

TEST(SlotSearch, FindsTheScheduleOfTheWorkedCase) {
  // Rates 1, 1.5, 1.75, 2 in quarters.
  const SlotCase given{.prices = {4, 1, 1},
                       .free = {2, 4, 4},
                       .values = {20, 18, 10},
                       .gains = {4, 6, 7, 8},
                       .units = 12};

  const auto best = best_slots(given.search());

  ASSERT_TRUE(best);
  EXPECT_EQ(best->workers, (std::vector<int>{1, 4}));
  EXPECT_DOUBLE_EQ(best->cost, 8);
  EXPECT_DOUBLE_EQ(best->payoff(), 10);
}

TEST(SlotSearch, EqualsExhaustiveSearch) {
  int infeasible = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    SlotCase given{.units = static_cast<int>(random.integer(1, 8))};
    double value = random.uniform(0, 40);
    for (int t = 0; t < 3; ++t) {
      given.prices.push_back(random.uniform(0, 6));
      given.free.push_back(static_cast<int>(random.integer(0, 4)));
      given.values.push_back(value);
      value *= random.uniform(0.3, 1);
    }
    int gain = 0;
    for (int y = 1; y <= 4; ++y) {
      gain += static_cast<int>(random.integer(0, 2));
      given.gains.push_back(gain);
    }

    const auto best = best_slots(given.search());

    const auto expected = best_payoff(given, 0, given.units, 0);
    ASSERT_EQ(best.has_value(), expected.has_value()) << "seed " << seed;
    infeasible += best ? 0 : 1;
    if (!best) {
      continue;
    }
    ASSERT_NEAR(best->payoff(), *expected, 1e-9) << "seed " << seed;
    double cost = 0;
    int units = 0;
    for (std::size_t t = 0; t < best->workers.size(); ++t) {
      const int y = best->workers[t];
      ASSERT_LE(y, given.free[t]);
      cost += y * given.prices[t];
      units += given.gain_of(y);
    }
    ASSERT_NEAR(cost, best->cost, 1e-9) << "seed " << seed;
    ASSERT_GE(units, given.units) << "seed " << seed;
  }
  EXPECT_GT(infeasible, 100);
}

TEST(SlotSearch, PrefersTheEarlierFinishAndFewerWorkersAmongEquals) {
  const SlotCase given{
      .prices = {0, 0, 0}, .free = {0, 3, 3}, .values = {5, 5, 5}, .gains = {1, 1, 1}, .units = 1};

  const auto best = best_slots(given.search());

  ASSERT_TRUE(best);
  EXPECT_EQ(best->workers, (std::vector<int>{0, 1}));
}

TEST(SlotSearch, FindsNothingWithoutRoomSlotsOrProgress) {
  SlotCase given{.prices = {1}, .free = {0}, .values = {5}, .gains = {1}, .units = 1};
  EXPECT_FALSE(best_slots(given.search()));
  given.free = {1};
  EXPECT_TRUE(best_slots(given.search()));
  given.gains = {0};
  EXPECT_FALSE(best_slots(given.search()));
  given.prices.clear();
  EXPECT_FALSE(best_slots(given.search()));
}

}  // namespace
}  // namespace rubato::policy::pricing
