#include "rubato/policy/artifact/steps.h"

#include <algorithm>

namespace rubato::policy::artifact {
namespace {

// Where the step after this one begins; kForever if it is the last.
WholeSeconds breakpoint_after(const Steps& steps, Steps::const_iterator at) {
  return at + 1 == steps.end() ? kForever : (at + 1)->from;
}

}  // namespace

std::size_t position(const Steps& steps, WholeSeconds second) {
  const auto found = std::ranges::lower_bound(steps, second, {}, &Step::from);
  return static_cast<std::size_t>(found - steps.begin());
}

void merge(Steps& steps) {
  const auto same = [](const Step& one, const Step& next) { return one.gpus == next.gpus; };
  steps.erase(std::unique(steps.begin(), steps.end(), same), steps.end());
}

std::int64_t gpu_seconds(const Steps& steps, WholeSeconds end) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const WholeSeconds to = i + 1 < steps.size() ? steps[i + 1].from : end;
    sum += steps[i].gpus * (to - steps[i].from);
  }
  return sum;
}

void give_back(const Steps& free, const Held& held, int gpus, WholeSeconds until, Steps& sum) {
  sum.clear();
  auto at_free = free.begin();
  auto at_held = held.steps.begin();
  WholeSeconds second = at_free->from;
  int last = -1;
  while (second < held.end && second <= until) {
    const int value = std::min(at_free->gpus + at_held->gpus, gpus);
    if (value != last) {
      sum.push_back(Step{.from = second, .gpus = value});
      last = value;
    }
    const WholeSeconds next_free = breakpoint_after(free, at_free);
    const WholeSeconds next_held = breakpoint_after(held.steps, at_held);
    second = std::min({next_free, next_held, held.end});
    at_free += next_free == second ? 1 : 0;
    at_held += next_held == second ? 1 : 0;
  }
  if (second > until) {
    return;
  }
  if (at_free->gpus != last) {
    sum.push_back(Step{.from = second, .gpus = at_free->gpus});
  }
  sum.insert(sum.end(), at_free + 1,
             std::ranges::upper_bound(at_free + 1, free.end(), until, {}, &Step::from));
}

WholeSeconds align_up(WholeSeconds origin, WholeSeconds moment, WholeSeconds slot) {
  const WholeSeconds span = moment - origin;
  return origin + (span / slot + (span % slot > 0 ? 1 : 0)) * slot;
}

}  // namespace rubato::policy::artifact
