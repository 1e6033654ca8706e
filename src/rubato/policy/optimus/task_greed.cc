#include "rubato/policy/optimus/task_greed.h"

#include <cstddef>
#include <queue>

namespace rubato::policy::optimus {
namespace {

/// The best that one more task could do for a holder. Later ones of equal gain come later.
struct TaskOffer {
  double gain = 0;
  std::size_t holder = 0;
  std::size_t role = 0;

  friend bool operator<(const TaskOffer& left, const TaskOffer& right) {
    return left.gain < right.gain || (left.gain == right.gain && left.holder > right.holder);
  }
};

// The holder's largest saving among the roles of which something is left; no gain if there is none.
TaskOffer best_offer(std::size_t number, TaskHolder& holder, std::span<const TaskSupply> supplies) {
  TaskOffer best{.holder = number};
  const double now = holder.time_left(holder.tasks);
  for (std::size_t role = 0; role < supplies.size(); ++role) {
    const bool is_full = !holder.limits.empty() && holder.tasks[role] >= holder.limits[role];
    if (supplies[role].left <= 0 || is_full) {
      continue;
    }
    ++holder.tasks[role];
    const double gain = (now - holder.time_left(holder.tasks)) / supplies[role].amount;
    --holder.tasks[role];
    if (gain > best.gain) {
      best.gain = gain;
      best.role = role;
    }
  }
  return best;
}

}  // namespace

void hand_out_tasks(std::span<TaskHolder> holders, std::span<TaskSupply> supplies) {
  std::priority_queue<TaskOffer> offers;
  for (std::size_t i = 0; i < holders.size(); ++i) {
    offers.push(best_offer(i, holders[i], supplies));
  }
  while (!offers.empty() && offers.top().gain > 0) {
    const TaskOffer offer = offers.top();
    offers.pop();
    TaskHolder& holder = holders[offer.holder];
    if (supplies[offer.role].left > 0) {
      --supplies[offer.role].left;
      ++holder.tasks[offer.role];
    }  // Else what it wanted has run out, and it may want something else.
    offers.push(best_offer(offer.holder, holder, supplies));
  }
}

}  // namespace rubato::policy::optimus
