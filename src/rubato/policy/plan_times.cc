#include "rubato/policy/plan_times.h"

namespace rubato {

Instant on_grid(Instant moment, Duration slot) {
  if (slot <= Duration{} || moment.time_since_epoch() > kLongest) {
    return moment;
  }
  const Duration over = moment.time_since_epoch() % slot;
  return over == Duration{} ? moment : moment + (slot - over);
}

Duration foreseen_pause(const ResizeCost& costs, const Job& job, int from, int to) {
  if (from == to || to == 0) {
    return Duration{};
  }
  switch (costs.accounting()) {
    case Accounting::None:
      return Duration{};
    case Accounting::Artifact:
      return costs.artifact(to, /*known_set=*/false, /*restarts=*/false);
    case Accounting::Physical:
      return costs.physical(job, {.from = from, .to = to});
  }
  return Duration{};
}

}  // namespace rubato
