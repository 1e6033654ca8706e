#include "rubato/policy/rounds/home_pool.h"

#include <algorithm>
#include <vector>

namespace rubato::policy::rounds {
namespace {

// Speed on an equal part of the pool, or on the job's smallest count if that part is too small.
double prospect(const JobState& job, const View& view, PoolId pool, int members) {
  const ScalingCurve& curve = view.curve(job, pool);
  const int gpus = view.capacity[pool.value];
  if (curve.smallest().workers > gpus) {
    return 0;
  }
  const ScalingPoint fair = curve.best_within(gpus / (members + 1));
  if (fair.workers > 0) {
    return fair.speed;
  }
  // It will often have to wait: only this part of the smallest count is its own.
  return curve.smallest().speed * gpus / ((members + 1.0) * curve.smallest().workers);
}

}  // namespace

void choose_home_pools(const View& view, std::span<Seat> seats) {
  std::vector<int> members(view.capacity.size(), 0);
  for (Seat& seat : seats) {
    if (seat.job->share > 0) {
      seat.pool = seat.job->pool();
      ++members[seat.pool.value];
    }
  }
  for (Seat& seat : seats) {
    if (seat.job->share > 0) {
      continue;
    }
    double best = -1;
    for (const Pool& pool : view.topology.pools()) {
      if (view.curve(*seat.job, pool.id).empty()) {
        continue;
      }
      const double found = prospect(*seat.job, view, pool.id, members[pool.id.value]);
      if (found > best) {
        best = found;
        seat.pool = pool.id;
      }
    }
    ++members[seat.pool.value];
  }
}

}  // namespace rubato::policy::rounds
