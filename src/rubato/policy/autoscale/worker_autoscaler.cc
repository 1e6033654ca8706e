#include "rubato/policy/autoscale/worker_autoscaler.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "rubato/base/check.h"

namespace rubato::policy::autoscale {
namespace {

// The next count above, if there is one.
std::optional<int> rung_above(std::span<const int> ladder, int workers) {
  const auto found = std::ranges::upper_bound(ladder, workers);
  return found == ladder.end() ? std::nullopt : std::optional(*found);
}

std::optional<int> rung_below(std::span<const int> ladder, int workers) {
  const auto found = std::ranges::lower_bound(ladder, workers);
  return found == ladder.begin() ? std::nullopt : std::optional(*(found - 1));
}

double latency(const Bill& bill, const Visit& at) { return bill.steps_left / at.speed; }

double cost(const Bill& bill, const Visit& at) {
  return latency(bill, at) * at.workers * bill.price;
}

double worth(const Bill& bill, const Visit& at) {
  return bill.value.at(from_seconds(bill.elapsed + latency(bill, at)));
}

}  // namespace

StepPays pays_by_efficiency(double least) {
  return [least](const Visit& from, const Visit& to) {
    const double added = (to.speed - from.speed) / (to.workers - from.workers);
    return added > least * from.speed / from.workers;
  };
}

StepPays pays_by_utility(Bill bill) {
  return [bill = std::move(bill)](const Visit& from, const Visit& to) {
    return worth(bill, to) - worth(bill, from) > cost(bill, to) - cost(bill, from);
  };
}

int next_count(std::span<const Visit> visits, std::span<const int> ladder, const StepPays& pays,
               const AutoscaleSearch& search) {
  RUBATO_CHECK(!visits.empty());
  const std::optional<int> above = rung_above(ladder, visits.back().workers);
  const std::optional<int> below = rung_below(ladder, visits.front().workers);
  if (visits.size() == 1) {
    return above.value_or(below.value_or(visits.front().workers));
  }
  // The first step that does not pay; visits.size() - 1 if all do.
  std::size_t failing = 0;
  while (failing + 1 < visits.size() && pays(visits[failing], visits[failing + 1])) {
    ++failing;
  }
  const std::size_t steps = visits.size() - 1;
  if (failing == steps && above) {
    return *above;
  }
  if (failing < std::min(steps, static_cast<std::size_t>(search.passes)) && below) {
    return *below;
  }
  // A verdict on the next count needs enough steps there.
  const bool is_known = failing == steps || visits[failing + 1].steps >= search.steps_min;
  return is_known ? visits[failing].workers : visits[failing + 1].workers;
}

}  // namespace rubato::policy::autoscale
