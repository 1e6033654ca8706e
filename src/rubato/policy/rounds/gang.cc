#include "rubato/policy/rounds/gang.h"

#include <algorithm>
#include <tuple>

namespace rubato::policy::rounds {
namespace {

// The count nearest below `wanted` that the job accepts, or its smallest.
int accepted_count(const Job& job, const ScalingCurve& curve, int wanted) {
  if (job.workers.allows(wanted)) {
    return wanted;
  }
  const ScalingPoint below = curve.best_within(wanted);
  return below.workers > 0 ? below.workers : curve.smallest().workers;
}

}  // namespace

std::optional<Gang> gang_in(const JobState& job, const Pool& pool, const View& view) {
  const ScalingCurve& curve = view.curve(job, pool.id);
  if (curve.empty()) {
    return std::nullopt;
  }
  const int wanted = std::clamp(job.job.requested, 1, pool.gpus);
  return Gang{.pool = pool.id, .workers = accepted_count(job.job, curve, wanted)};
}

std::optional<Gang> gang_of(const JobState& job, const View& view) {
  const Pool* first = nullptr;
  const Pool* wide_enough = nullptr;
  for (const Pool& pool : view.topology.pools()) {
    if (view.curve(job, pool.id).empty()) {
      continue;
    }
    first = first == nullptr ? &pool : first;
    if (wide_enough == nullptr && job.job.requested <= pool.gpus) {
      wide_enough = &pool;
    }
  }
  const Pool* pool = wide_enough != nullptr ? wide_enough : first;
  return pool != nullptr ? gang_in(job, *pool, view) : std::nullopt;
}

std::vector<Gang> gangs_by_speed(const JobState& job, const View& view) {
  std::vector<Gang> gangs;
  for (const Pool& pool : view.topology.pools()) {
    if (const auto gang = gang_in(job, pool, view); gang && job.job.requested <= pool.gpus) {
      gangs.push_back(*gang);
    }
  }
  if (gangs.empty()) {
    if (const auto gang = gang_of(job, view)) {
      gangs.push_back(*gang);
    }
  }
  if (gangs.size() > 1) {
    std::ranges::stable_sort(gangs, {}, [&](const Gang& gang) {
      return std::tuple(-view.speed(job, gang.pool, gang.workers),
                        view.topology.upload_time(gang.pool, job.job.region, job.job.data_gb));
    });
  }
  return gangs;
}

Reason why_unrunnable(const JobState& job, const View& view) {
  int widest = 0;
  for (const Pool& pool : view.topology.pools()) {
    if (!view.curve(job, pool.id).empty()) {
      return Reason::None;
    }
    widest = std::max(widest, pool.gpus);
  }
  const WorkerCounts& counts = job.job.workers;
  const int fewest = counts.listed.empty() ? counts.min : counts.listed.front();
  return fewest > widest ? Reason::TooWide : Reason::UnknownSpeed;
}

Duration run_time_left(const JobState& job, const Gang& gang, const View& view) {
  const double speed = view.speed(job, gang.pool, gang.workers);
  return speed > 0 ? from_seconds_up(job.work_left(view.now) / speed) : kLongest;
}

}  // namespace rubato::policy::rounds
