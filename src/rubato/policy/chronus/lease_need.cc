#include "rubato/policy/chronus/lease_need.h"

#include <algorithm>
#include <cmath>

#include "rubato/policy/chronus/lease_plan.h"

namespace rubato::policy::chronus {
namespace {

std::int64_t leases_up(Duration span, Duration lease) {
  return span <= Duration{} ? 0 : (span - Duration{1}) / lease + 1;
}

double to_minutes(Duration span) { return to_seconds(span) / 60; }

}  // namespace

Duration start_pause(const JobState& job, int workers, const View& view) {
  switch (view.costs.accounting()) {
    case ResizeCostModel::None:
      break;
    case ResizeCostModel::Artifact:
      return view.costs.artifact(workers, /*known_set=*/false, /*restarts=*/true);
    case ResizeCostModel::Physical:
      return view.costs.physical(job.job, {.from = 0, .to = workers});
  }
  return Duration{};
}

int leases_needed(const JobState& job, const rounds::Gang& gang, bool holds_present,
                  const LeaseMoment& moment) {
  const LeaseGrid& grid = moment.grid;
  const View& view = moment.view;
  const double speed = view.speed(job, gang.pool, gang.workers);
  const Duration pause = start_pause(job, gang.workers, view);
  const bool runs = job.share == gang.workers && job.pool() == gang.pool;
  Duration left = rounds::run_time_left(job, gang, view);
  Duration ran = job.usage.executed_at(view.now, job.share);
  if (runs) {
    left += std::max(Duration{}, job.progress.paused_until - view.now);
  }
  bool is_done_before = false;
  if (holds_present) {
    const Instant from = runs ? view.now : later(grid.tick_from(view.now), pause);
    const Duration present = std::max(Duration{}, grid.start(moment.base) - from);
    left -= present;
    ran += present;
    is_done_before = present > Duration{} && left <= Duration{};
  }
  if (is_done_before) {
    return 0;
  }
  const Duration useful = std::max(grid.lease() - pause, grid.lease() / 4);
  const double total = speed > 0 ? job.job.work / speed / 60 : to_minutes(kLongest);
  const double margin =
      estimated_minutes(total, gang.workers, to_minutes(grid.lease())) - to_minutes(ran);
  const std::int64_t needed =
      std::max(leases_up(left, useful), leases_up(from_seconds(margin * 60), grid.lease()));
  // Even a job without work must run once to end.
  return static_cast<int>(std::clamp<std::int64_t>(needed, 1, 1 << 30));
}

std::int64_t first_lease(const JobState& job, PoolId pool, const LeaseGrid& grid,
                         const View& view) {
  const Duration upload = view.topology.upload_time(pool, job.job.region, job.job.data_gb);
  return upload > Duration{} ? grid.from(later(job.job.arrival, upload)) : 0;
}

}  // namespace rubato::policy::chronus
