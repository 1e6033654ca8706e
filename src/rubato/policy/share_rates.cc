#include "rubato/policy/share_rates.h"

#include <algorithm>

namespace rubato {

double ShareRates::rate(const JobState& job, const View& view, PoolId pool,
                        const CanonicalShare& share) {
  const JobGoodput* goodput = view.goodput(job.id());
  if (goodput == nullptr) {
    return view.speed(job, pool, share.workers);
  }
  Remembered& remembered = jobs_[job.id()];
  if (remembered.version != goodput->version) {
    remembered = {.version = goodput->version};
  }
  const auto [known, is_new] =
      remembered.rates.try_emplace({pool, share.nodes, share.workers}, 0.0);
  if (is_new) {
    known->second = goodput->best(pool, share.nodes, share.workers).rate;
  }
  return known->second;
}

int explored_max(const JobState& job, const View& view, PoolId pool, int permitted) {
  const int accepted = std::min(permitted, job.job.workers.max);
  const JobGoodput* goodput = view.goodput(job.id());
  if (goodput == nullptr) {
    const ScalingCurve& curve = view.curve(job, pool);
    return curve.empty() ? 0 : std::min(accepted, curve.peak().workers);
  }
  const PoolGoodput* here = goodput->on(pool);
  const int seen = here == nullptr ? 0 : here->workers_seen;
  const int splittable = goodput->limits.max / std::max(goodput->limits.local_min, 1);
  return std::min({accepted, std::max(2 * seen, 1), splittable});
}

double restart_cost(const JobState& job, const View& view) {
  const ShareChange grows{.from = job.share, .to = job.share + 1};
  return view.costs.accounting() == Accounting::Physical
             ? to_seconds(view.costs.physical(job.job, grows))
             : 0;
}

double after_restart(const JobState& job, const View& view) {
  const double age = to_seconds(view.now - job.job.arrival);
  if (age <= 0) {
    return 1;
  }
  const double cost = restart_cost(job, view);
  const int restarts = job.resizes + job.migrations + job.restarts;
  return std::max(age - restarts * cost, 0.0) / (age + cost);
}

}  // namespace rubato
