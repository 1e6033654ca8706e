#include "rubato/policy/pricing/slot_search.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rubato::policy::pricing {
namespace {

constexpr double kUnreached = std::numeric_limits<double>::infinity();

/// One slot of the program: its choices and, for each amount of progress, which of them was taken.
struct Stage {
  std::vector<SlotChoice> choices{};
  std::vector<std::int16_t> taken{};  // Index into `choices`, -1 for none.
};

std::size_t before(std::size_t units, int gain) {
  const auto step = static_cast<std::size_t>(gain);
  return units > step ? units - step : 0;
}

// Brings the least costs from the end of the slot before to the end of this one.
Stage advance(std::vector<SlotChoice> choices, std::vector<double>& costs) {
  Stage stage{.choices = std::move(choices), .taken = std::vector<std::int16_t>(costs.size(), -1)};
  const std::vector<double> old = costs;
  for (std::size_t i = 0; i < stage.choices.size(); ++i) {
    const SlotChoice& choice = stage.choices[i];
    if (choice.gain <= 0) {
      continue;
    }
    for (std::size_t w = 1; w < costs.size(); ++w) {
      const double cost = old[before(w, choice.gain)] + choice.cost;
      if (cost < costs[w]) {
        costs[w] = cost;
        stage.taken[w] = static_cast<std::int16_t>(i);
      }
    }
  }
  return stage;
}

// Walks back from all of the work done at the end of the last stage.
std::vector<int> trace_back(const std::vector<Stage>& stages, std::size_t last, int units) {
  std::vector<int> workers(last + 1, 0);
  auto left = static_cast<std::size_t>(units);
  for (std::size_t t = last + 1; t-- > 0;) {
    const std::int16_t taken = stages[t].taken[left];
    if (taken >= 0) {
      const SlotChoice& choice = stages[t].choices[static_cast<std::size_t>(taken)];
      workers[t] = choice.workers;
      left = before(left, choice.gain);
    }
  }
  return workers;
}

}  // namespace

std::optional<SlotSchedule> best_slots(const SlotSearch& search) {
  std::vector<double> costs(static_cast<std::size_t>(search.units) + 1, kUnreached);
  costs[0] = 0;
  std::vector<Stage> stages;
  std::optional<SlotSchedule> best;
  std::size_t finish = 0;
  for (int slot = 0; slot < search.slots; ++slot) {
    const double value = search.value(slot);
    if (best && value <= best->payoff()) {
      break;  // Costs are not negative and later is not worth more.
    }
    const double cost_before = costs.back();
    stages.push_back(advance(search.choices(slot), costs));
    if (costs.back() < cost_before && (!best || value - costs.back() > best->payoff())) {
      best = SlotSchedule{.cost = costs.back(), .value = value};
      finish = static_cast<std::size_t>(slot);
    }
  }
  if (best) {
    best->workers = trace_back(stages, finish, search.units);
  }
  return best;
}

}  // namespace rubato::policy::pricing
