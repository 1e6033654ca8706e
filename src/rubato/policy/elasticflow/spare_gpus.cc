#include "rubato/policy/elasticflow/spare_gpus.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "rubato/base/check.h"

namespace rubato::policy::elasticflow {
namespace {

/// A contender's place in some order; lower goes first. What is compared is copied out of the job:
/// sorting through pointers into ten thousand jobs mostly waits for memory.
struct Place {
  double cost = 0;
  Instant arrival{};
  JobId id{};
  std::size_t who = 0;
  int to = 0;  // Workers it would have.

  friend bool operator<(const Place& left, const Place& right) {
    if (left.cost != right.cost) {
      return left.cost < right.cost;
    }
    return left.arrival != right.arrival ? left.arrival < right.arrival : left.id < right.id;
  }
};

/// Remembers what steps cost: jobs are many, kinds of jobs and sizes few.
class StepCosts {
 public:
  double of(const ScalingCurve& curve, int from, int to) {
    const std::size_t kind = std::hash<const ScalingCurve*>{}(&curve) / alignof(ScalingCurve);
    const auto sizes = static_cast<std::size_t>(from) * 31 + static_cast<std::size_t>(to);
    Known& known = known_[(kind * 131 + sizes) % known_.size()];
    if (known.curve != &curve || known.from != from || known.to != to) {
      known = Known{.curve = &curve, .from = from, .to = to, .cost = step_cost(curve, from, to)};
    }
    return known.cost;
  }

 private:
  struct Known {
    const ScalingCurve* curve = nullptr;
    int from = 0;
    int to = 0;
    double cost = 0;
  };
  std::array<Known, 1024> known_{};
};

Place place_of(const std::vector<Contender>& contenders, std::size_t who, double cost, int to) {
  const Contender& each = contenders[who];
  return Place{.cost = cost, .arrival = each.arrival, .id = each.id, .who = who, .to = to};
}

bool is_before(const Place& left, const Place& right) { return left < right; }
bool is_behind(const Place& left, const Place& right) { return right < left; }

// Promised shares first: the ledger made sure that they fit.
int give_floors(std::vector<Contender>& contenders, int free) {
  for (Contender& each : contenders) {
    each.workers = each.floor;
    free -= each.floor;
  }
  RUBATO_CHECK(free >= 0);
  return free;
}

// One smallest share for each job that has nothing, in turn.
int give_starts(std::vector<Contender>& contenders, int free, const SpareRules& rules) {
  // Numbers, not copies: there may be ten thousand, of whom the GPUs serve the first few.
  std::map<int, std::vector<std::uint32_t>> turns;
  for (std::uint32_t i = 0; i < contenders.size(); ++i) {
    if (contenders[i].floor == 0) {
      turns[contenders[i].turn].push_back(i);
    }
  }
  const auto order = [&](std::uint32_t who) {
    return std::pair(contenders[who].arrival, contenders[who].id);
  };
  for (auto& [turn, waiting] : turns) {
    if (!std::ranges::is_sorted(waiting, {}, order)) {  // Mostly ids rise with arrivals.
      std::ranges::sort(waiting, {}, order);
    }
    for (const std::uint32_t who : waiting) {
      Contender& each = contenders[who];
      const int least = each.curve->smallest().workers;
      const bool runs = each.share > 0;  // Whether it may shrink is asked in keep_sizes.
      if (least <= free && (runs || (rules.finishes_sooner(each, least) &&
                                     rules.try_resize_within_promise(each, least)))) {
        each.workers = least;
        free -= least;
      }
      if (free == 0) {
        return 0;
      }
    }
  }
  return free;
}

// True if the job runs on more than it was given so far.
bool is_larger(const Contender& each) { return each.workers > 0 && each.share > each.workers; }

// The last ones in order who want `missing` GPUs or more between them, first to last. They are few
// as a rule: everyone else is only compared with the first of them.
std::vector<Place> last_wanting(const std::vector<Contender>& contenders, int missing,
                                StepCosts& costs) {
  std::vector<Place> last;  // A heap with the first in order on top.
  const auto want = [&](const Place& place) { return place.to - contenders[place.who].workers; };
  int wanted = 0;
  for (std::size_t i = 0; i < contenders.size() && missing > 0; ++i) {
    const Contender& each = contenders[i];
    if (!is_larger(each)) {
      continue;
    }
    const double cost = costs.of(*each.curve, each.workers, each.share);
    if (wanted >= missing && cost < last.front().cost) {
      continue;
    }
    const Place here = place_of(contenders, i, cost, each.share);
    last.push_back(here);
    std::ranges::push_heap(last, is_behind);
    wanted += want(here);
    while (wanted - want(last.front()) >= missing) {
      wanted -= want(last.front());
      std::ranges::pop_heap(last, is_behind);
      last.pop_back();
    }
  }
  std::ranges::sort(last, is_before);
  return last;
}

// Jobs that have more than that keep it as far as it fits, best use first.
int keep_sizes(std::vector<Contender>& contenders, int free, const SpareRules& rules,
               StepCosts& costs) {
  int wanted = 0;
  bool all_usable = true;
  for (const Contender& each : contenders) {
    if (is_larger(each)) {
      wanted += each.share - each.workers;
      all_usable &= each.curve->best_within(each.share).workers == each.share;
    }
  }
  const std::vector<Place> last =
      last_wanting(contenders, all_usable ? wanted - free : wanted, costs);
  std::vector<int> given_to_last;
  given_to_last.reserve(last.size());
  for (const Place& place : last) {
    given_to_last.push_back(contenders[place.who].workers);
  }
  for (Contender& each : contenders) {
    if (is_larger(each)) {
      free -= each.share - each.workers;
      each.workers = each.share;
    }
  }
  for (std::size_t i = 0; i < last.size(); ++i) {
    contenders[last[i].who].workers = given_to_last[i];
    free += last[i].to - given_to_last[i];
  }
  for (const Place& place : last) {
    Contender& each = contenders[place.who];
    const int given = each.workers;
    const int within = each.curve->best_within(std::min(place.to, given + free)).workers;
    const bool bears =
        within == place.to || within == each.floor || rules.try_resize_within_promise(each, within);
    each.workers = bears ? within : each.floor;
    free += given - each.workers;
  }
  return free;
}

// Adds the contender's next step, unless it is too wide for what is free: that only gets less.
bool add_step(const std::vector<Contender>& contenders, std::size_t who, int free, StepCosts& costs,
              std::vector<Place>& steps) {
  const Contender& each = contenders[who];
  const ScalingPoint next = each.curve->next_above(each.workers);
  if (next.workers == 0 || next.workers - each.workers > free) {
    return false;
  }
  steps.push_back(
      place_of(contenders, who, costs.of(*each.curve, each.workers, next.workers), next.workers));
  return true;
}

// The rest goes one step at a time to whoever wastes the least of it.
void give_steps(std::vector<Contender>& contenders, int free, const SpareRules& rules,
                StepCosts& costs) {
  std::vector<Place> steps;
  for (std::size_t i = 0; i < contenders.size() && free > 0; ++i) {
    if (contenders[i].workers > 0) {
      add_step(contenders, i, free, costs, steps);
    }
  }
  std::ranges::make_heap(steps, is_behind);
  while (free > 0 && !steps.empty()) {
    std::ranges::pop_heap(steps, is_behind);
    const Place step = steps.back();
    steps.pop_back();
    Contender& each = contenders[step.who];
    const int more = step.to - each.workers;
    if (more <= free && rules.finishes_sooner(each, step.to) &&
        rules.try_resize_within_promise(each, step.to)) {
      each.workers = step.to;
      free -= more;
      if (add_step(contenders, step.who, free, costs, steps)) {
        std::ranges::push_heap(steps, is_behind);
      }
    }
  }
}

}  // namespace

double step_cost(const ScalingCurve& curve, int from, int to) {
  if (from == 0) {
    return 0;
  }
  const double grown = curve.speed(to) / curve.speed(from);
  return (to - from * grown) / (to - from);
}

void share_out(std::vector<Contender>& contenders, int gpus, const SpareRules& rules) {
  int free = give_floors(contenders, gpus);
  free = give_starts(contenders, free, rules);
  StepCosts costs;
  free = keep_sizes(contenders, free, rules, costs);
  give_steps(contenders, free, rules, costs);
}

}  // namespace rubato::policy::elasticflow
