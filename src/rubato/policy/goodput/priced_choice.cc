#include "rubato/policy/goodput/priced_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>

#include "rubato/base/check.h"
#include "rubato/solve/linear_program.h"

namespace rubato::policy::goodput {
namespace {

constexpr int kSweeps = 12;        // Over all prices; each settles them given the others.
constexpr int kHalvings = 24;      // Of the interval a price lies in.
constexpr double kSettled = 1e-4;  // Relative change of prices below which they count as settled.
constexpr std::size_t kExactItemsMax = 32;  // Items that the integer program decides.
constexpr std::size_t kVariablesMax = 8 * kExactItemsMax;

using Prices = std::vector<double>;

/// What all items take at some prices.
struct Demand {
  std::vector<std::size_t> options{};
  std::vector<long> weights{};  // By pool.
  double value = 0;             // Of the dual.
};

double priced(const PricedOption& option, const Prices& prices) {
  return option.cost + prices[option.pool] * option.weight;
}

// The cheapest option at these prices; the lightest among equals.
std::size_t cheapest(const PricedItem& item, const Prices& prices) {
  std::size_t best = 0;
  double least = priced(item.front(), prices);
  for (std::size_t i = 1; i < item.size(); ++i) {
    const double cost = priced(item[i], prices);
    if (cost < least || (cost == least && item[i].weight < item[best].weight)) {
      best = i;
      least = cost;
    }
  }
  return best;
}

Demand demand_at(std::span<const PricedItem> items, std::span<const int> rooms,
                 const Prices& prices) {
  Demand demand{.weights = std::vector<long>(rooms.size(), 0)};
  demand.options.reserve(items.size());
  for (const PricedItem& item : items) {
    const std::size_t option = cheapest(item, prices);
    demand.options.push_back(option);
    demand.weights[item[option].pool] += item[option].weight;
    demand.value += priced(item[option], prices);
  }
  for (std::size_t pool = 0; pool < rooms.size(); ++pool) {
    demand.value -= prices[pool] * rooms[pool];
  }
  return demand;
}

// The price of a pool above which nobody would want any of it.
double dearest(std::span<const PricedItem> items, std::size_t pool) {
  double price = 0;
  for (const PricedItem& item : items) {
    for (const PricedOption& option : item) {
      if (option.pool == pool && option.weight > 0) {
        price = std::max(price, (item.front().cost - option.cost) / option.weight);
      }
    }
  }
  return price * (1 + 1e-9) + 1e-12;
}

/// Prices at which everything fits, and the best bound seen on the way.
struct Settled {
  Prices prices{};
  Demand demand{};
  double bound = -std::numeric_limits<double>::infinity();
};

// The options that are cheapest at some price of their pool: the lower hull of cost over weight.
// The one that takes nothing comes first and belongs to every pool.
PricedItem hull_of(const PricedItem& item, std::size_t pool) {
  PricedItem rising = {item.front()};
  for (const PricedOption& option : item) {
    if (option.pool == pool && option.weight > 0) {
      rising.push_back(option);
    }
  }
  std::ranges::sort(
      rising, {}, [](const PricedOption& option) { return std::pair(option.weight, option.cost); });
  PricedItem hull;
  for (const PricedOption& option : rising) {
    const auto is_above = [&] {
      const PricedOption& last = hull.back();
      if (hull.size() == 1) {
        return false;
      }
      const PricedOption& before = hull[hull.size() - 2];
      return (last.cost - before.cost) * (option.weight - last.weight) >=
             (option.cost - last.cost) * (last.weight - before.weight);
    };
    if (!hull.empty() && option.cost >= hull.back().cost) {
      continue;
    }
    while (!hull.empty() && is_above()) {
      hull.pop_back();
    }
    hull.push_back(option);
  }
  return hull;
}

/// One pool's price with all others held: what each item would pay elsewhere, and its hull here.
class PoolDemand {
 public:
  PoolDemand(std::span<const std::vector<PricedItem>> hulls, std::size_t pool, const Prices& prices)
      : hulls_(hulls), pool_(pool) {
    for (const std::vector<PricedItem>& item : hulls) {
      double least = item.front().front().cost;
      for (std::size_t other = 0; other < item.size(); ++other) {
        for (const PricedOption& option : other == pool ? PricedItem{} : item[other]) {
          least = std::min(least, option.cost + prices[other] * option.weight);
        }
      }
      elsewhere_.push_back(least);
    }
  }

  /// How much of the pool is wanted at a price.
  [[nodiscard]] long wanted(double price) const {
    long weight = 0;
    for (std::size_t i = 0; i < hulls_.size(); ++i) {
      double least = elsewhere_[i];
      int taken = 0;
      for (const PricedOption& option : hulls_[i][pool_]) {
        const double cost = option.cost + price * option.weight;
        if (cost < least) {
          least = cost;
          taken = option.weight;
        }
      }
      weight += taken;
    }
    return weight;
  }

 private:
  std::span<const std::vector<PricedItem>> hulls_;
  std::size_t pool_;
  std::vector<double> elsewhere_;
};

Settled settle_prices(std::span<const PricedItem> items, std::span<const int> rooms) {
  std::vector<std::vector<PricedItem>> hulls(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (std::size_t pool = 0; pool < rooms.size(); ++pool) {
      hulls[i].push_back(hull_of(items[i], pool));
    }
  }
  Settled settled{.prices = Prices(rooms.size(), 0)};
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double moved = 0;
    for (std::size_t pool = 0; pool < rooms.size(); ++pool) {
      const PoolDemand demand(hulls, pool, settled.prices);
      double low = 0;
      double fits = demand.wanted(0) <= rooms[pool] ? 0 : dearest(items, pool);
      for (int i = 0; i < kHalvings && fits > 0; ++i) {
        const double price = (low + fits) / 2;
        (demand.wanted(price) <= rooms[pool] ? fits : low) = price;
      }
      moved = std::max(moved, std::abs(fits - settled.prices[pool]) / (fits + 1e-9));
      settled.prices[pool] = fits;
    }
    settled.bound = std::max(settled.bound, demand_at(items, rooms, settled.prices).value);
    if (moved < kSettled) {
      break;
    }
  }
  settled.demand = demand_at(items, rooms, settled.prices);
  return settled;
}

// Settling one price can push others out of their room again: the dearest takers then give way.
void make_fit(std::span<const PricedItem> items, std::span<const int> rooms, Demand& demand) {
  for (std::size_t pool = 0; pool < rooms.size(); ++pool) {
    std::vector<std::pair<double, std::size_t>> takers;  // What stopping costs per GPU, item.
    for (std::size_t i = 0; i < items.size(); ++i) {
      const PricedOption& option = items[i][demand.options[i]];
      if (option.pool == pool && option.weight > 0) {
        takers.emplace_back((items[i].front().cost - option.cost) / option.weight, i);
      }
    }
    std::ranges::sort(takers);
    for (std::size_t k = 0; k < takers.size() && demand.weights[pool] > rooms[pool]; ++k) {
      const std::size_t i = takers[k].second;
      demand.weights[pool] -= items[i][demand.options[i]].weight;
      demand.options[i] = 0;
    }
  }
}

// Exchanges one item's option for a cheaper one that fits, the largest saving first.
void upgrade(std::span<const PricedItem> items, std::span<const int> rooms, Demand& demand) {
  struct Step {
    double saving = 0;
    std::size_t item = 0;
    std::size_t option = 0;
  };
  const auto later = [](const Step& left, const Step& right) {
    return left.saving < right.saving || (left.saving == right.saving && left.item > right.item);
  };
  const auto fits = [&](const PricedOption& from, const PricedOption& to) {
    const long freed = from.pool == to.pool ? from.weight : 0;
    return demand.weights[to.pool] - freed + to.weight <= rooms[to.pool];
  };
  std::priority_queue<Step, std::vector<Step>, decltype(later)> steps(later);
  const auto offer = [&](std::size_t i) {
    const PricedOption& now = items[i][demand.options[i]];
    Step best{.item = i};
    for (std::size_t o = 0; o < items[i].size(); ++o) {
      const double saving = now.cost - items[i][o].cost;
      if (saving > best.saving && fits(now, items[i][o])) {
        best.saving = saving;
        best.option = o;
      }
    }
    if (best.saving > 0) {
      steps.push(best);
    }
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    offer(i);
  }
  while (!steps.empty()) {
    const Step step = steps.top();
    steps.pop();
    const PricedOption& from = items[step.item][demand.options[step.item]];
    const PricedOption& to = items[step.item][step.option];
    if (from.cost - to.cost == step.saving && fits(from, to)) {
      demand.weights[from.pool] -= from.weight;
      demand.weights[to.pool] += to.weight;
      demand.options[step.item] = step.option;
    }
    offer(step.item);
  }
}

// The items between whose two best options the prices hardly decide.
std::vector<std::size_t> hard_items(std::span<const PricedItem> items, const Prices& prices) {
  std::vector<std::pair<double, std::size_t>> margins;
  for (std::size_t i = 0; i < items.size(); ++i) {
    double best = std::numeric_limits<double>::infinity();
    double second = best;
    for (const PricedOption& option : items[i]) {
      const double cost = priced(option, prices);
      second = std::min(second, std::max(cost, best));
      best = std::min(best, cost);
    }
    margins.emplace_back(second - best, i);
  }
  const std::size_t count = std::min(kExactItemsMax, margins.size());
  std::ranges::partial_sort(margins, margins.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<std::size_t> hard;
  for (std::size_t k = 0; k < count; ++k) {
    hard.push_back(margins[k].second);
  }
  return hard;
}

// Decides the hard items anew, exactly, in what the others leave.
void decide_hard(std::span<const PricedItem> items, std::span<const int> rooms,
                 const Prices& prices, Demand& demand) {
  LinearProgram program(Goal::Minimise);
  std::vector<std::vector<Term>> use(rooms.size());
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> variables;  // (option, variable).
  const std::vector<std::size_t> hard = hard_items(items, prices);
  // The best few of an item at these prices; all of them where there are few items.
  const std::size_t options_max = kVariablesMax / std::max<std::size_t>(1, hard.size());
  for (const std::size_t i : hard) {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t o = 0; o < items[i].size(); ++o) {
      const bool is_kept = o == 0 || o == demand.options[i];
      order.emplace_back(
          is_kept ? -std::numeric_limits<double>::infinity() : priced(items[i][o], prices), o);
    }
    std::ranges::sort(order);
    order.resize(std::min(order.size(), options_max));
    std::vector<Term> one;
    variables.emplace_back();
    for (const auto& [cost, o] : order) {
      const PricedOption& option = items[i][o];
      const std::size_t variable =
          program.add({.upper = 1, .worth = option.cost, .is_integer = true});
      one.push_back({.variable = variable, .factor = 1});
      use[option.pool].push_back(
          {.variable = variable, .factor = static_cast<double>(option.weight)});
      variables.back().emplace_back(o, variable);
    }
    program.add_row(one, Relation::Equal, 1);
    const PricedOption& now = items[i][demand.options[i]];
    demand.weights[now.pool] -= now.weight;
  }
  for (std::size_t pool = 0; pool < rooms.size(); ++pool) {
    program.add_row(use[pool], Relation::AtMost,
                    static_cast<double>(rooms[pool] - demand.weights[pool]));
  }
  const Solution solution =
      solve(program, {.nodes_max = 100, .iterations_max = 20'000, .gap = 1e-3});
  for (std::size_t k = 0; k < hard.size(); ++k) {
    for (const auto& [o, variable] : variables[k]) {
      if (solution.has_values() && solution.values[variable] > 0.5) {
        demand.options[hard[k]] = o;
      }
    }
    const PricedOption& now = items[hard[k]][demand.options[hard[k]]];
    demand.weights[now.pool] += now.weight;
  }
}

double cost_of(std::span<const PricedItem> items, const Demand& demand) {
  double cost = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    cost += items[i][demand.options[i]].cost;
  }
  return cost;
}

}  // namespace

PricedChoice choose_priced(std::span<const PricedItem> items, std::span<const int> rooms) {
  for (const PricedItem& item : items) {
    RUBATO_CHECK(!item.empty() && item.front().weight == 0);
  }
  Settled settled = settle_prices(items, rooms);
  make_fit(items, rooms, settled.demand);
  upgrade(items, rooms, settled.demand);
  constexpr double kCloseEnough = 2e-3;
  double cost = cost_of(items, settled.demand);
  if (cost - settled.bound > kCloseEnough * std::abs(cost)) {
    Demand decided = settled.demand;
    decide_hard(items, rooms, settled.prices, decided);
    upgrade(items, rooms, decided);
    const double after = cost_of(items, decided);
    if (after < cost) {
      settled.demand = std::move(decided);
      cost = after;
    }
  }
  return {.options = settled.demand.options, .cost = cost, .bound = settled.bound};
}

}  // namespace rubato::policy::goodput
