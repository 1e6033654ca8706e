#include "rubato/policy/spare_gpus.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "rubato/base/check.h"

namespace rubato {
namespace {

/// A possible next step of one contender; the cheapest is taken first.
struct Step {
  double cost = 0;
  Instant arrival{};
  JobId id{};
  std::size_t who = 0;
  int to = 0;

  friend bool operator>(const Step& left, const Step& right) {
    return std::tuple(left.cost, left.arrival, left.id) >
           std::tuple(right.cost, right.arrival, right.id);
  }
};

using Steps = std::priority_queue<Step, std::vector<Step>, std::greater<>>;

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
  std::vector<Contender*> waiting;
  for (Contender& each : contenders) {
    if (each.floor == 0) {
      waiting.push_back(&each);
    }
  }
  std::ranges::sort(waiting, {}, [](const Contender* each) {
    return std::tuple(each->turn, each->state->job.arrival, each->state->id());
  });
  for (Contender* each : waiting) {
    if (free == 0) {
      break;
    }
    const int least = each->curve->smallest().workers;
    const bool runs = each->state->share > 0;  // Whether it may shrink is asked in keep_sizes.
    if (least <= free && (runs || (rules.pays(*each, least) && rules.survives(*each, least)))) {
      each->workers = least;
      free -= least;
    }
  }
  return free;
}

// Jobs that have more than that keep it as far as it fits, best use first.
int keep_sizes(std::vector<Contender>& contenders, int free, const SpareRules& rules) {
  std::vector<std::pair<double, Contender*>> larger;
  for (Contender& each : contenders) {
    if (each.workers > 0 && each.state->share > each.workers) {
      larger.emplace_back(step_cost(*each.curve, each.workers, each.state->share), &each);
    }
  }
  std::ranges::sort(larger, {}, [](const auto& each) {
    return std::tuple(each.first, each.second->state->job.arrival, each.second->state->id());
  });
  for (const auto& [cost, each] : larger) {
    const int share = each->state->share;
    const int given = each->workers;
    const int within = each->curve->best_within(std::min(share, given + free)).workers;
    const bool bears = within == share || within == each->floor || rules.survives(*each, within);
    each->workers = bears ? within : each->floor;
    free += given - each->workers;
  }
  return free;
}

void push_next(const std::vector<Contender>& contenders, std::size_t who, int above, Steps& steps) {
  const Contender& each = contenders[who];
  const ScalingPoint next = each.curve->next_above(above);
  if (next.workers > 0) {
    steps.push(Step{.cost = step_cost(*each.curve, each.workers, next.workers),
                    .arrival = each.state->job.arrival,
                    .id = each.state->id(),
                    .who = who,
                    .to = next.workers});
  }
}

// The rest goes one step at a time to whoever wastes the least of it.
void give_steps(std::vector<Contender>& contenders, int free, const SpareRules& rules) {
  Steps steps;
  for (std::size_t i = 0; i < contenders.size() && free > 0; ++i) {
    if (contenders[i].workers > 0) {
      push_next(contenders, i, contenders[i].workers, steps);
    }
  }
  while (free > 0 && !steps.empty()) {
    const Step step = steps.top();
    steps.pop();
    Contender& each = contenders[step.who];
    const int more = step.to - each.workers;
    if (more > free) {
      continue;
    }
    if (rules.pays(each, step.to) && rules.survives(each, step.to)) {
      each.workers = step.to;
      free -= more;
      push_next(contenders, step.who, step.to, steps);
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
  free = keep_sizes(contenders, free, rules);
  give_steps(contenders, free, rules);
}

}  // namespace rubato
