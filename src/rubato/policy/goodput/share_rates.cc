#include "rubato/policy/goodput/share_rates.h"

#include <algorithm>

namespace rubato::policy::goodput {
namespace {

constexpr std::size_t kSizesMax = 10'000;  // Kept at most; about a kilobyte each.

}  // namespace

double ShareRates::rate(const JobState& job, const View& view, PoolId pool,
                        const CanonicalShare& share) {
  const JobGoodput* goodput = view.goodput(job.id());
  if (goodput == nullptr) {
    return view.speed(job, pool, share.workers);
  }
  Remembered& remembered = jobs_[job.id()];
  if (remembered.version != goodput->version) {
    remembered.version = goodput->version;
    remembered.rates.clear();
  }
  for (const auto& [in_pool, nodes, workers, known] : remembered.rates) {
    if (in_pool == pool && nodes == share.nodes && workers == share.workers) {
      return known;
    }
  }
  const double found =
      goodput->best(pool, share.nodes, sizes(goodput->limits_on(pool), share.workers)).rate;
  remembered.rates.emplace_back(pool, share.nodes, share.workers, found);
  return found;
}

const BatchSizes& ShareRates::sizes(const BatchLimits& limits, int workers) {
  if (sizes_.size() > kSizesMax) {
    sizes_.clear();
  }
  return sizes_
      .try_emplace({limits.initial, limits.max, limits.local_min, limits.local_max, workers},
                   limits, workers)
      .first->second;
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
  const BatchLimits& limits = goodput->limits_on(pool);
  const int splittable = limits.max / std::max(limits.local_min, 1);
  return std::min({accepted, std::max(2 * seen, 1), splittable});
}

double restart_cost(const JobState& job, const View& view) {
  const ShareChange grows{.from = job.share, .to = job.share + 1};
  return view.costs.accounting() == ResizeCostModel::Physical
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

}  // namespace rubato::policy::goodput
