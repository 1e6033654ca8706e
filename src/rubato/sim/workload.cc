#include "rubato/sim/workload.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

namespace rubato {

Workload prepare(std::vector<Job> jobs, SpeedBook& speeds) {
  std::ranges::stable_sort(jobs, {}, &Job::arrival);
  std::map<SpeedId, long> jobs_of_kind;
  std::uint64_t next = 0;
  for (Job& job : jobs) {
    job.id = JobId{next++};
    const SpeedId speed = speeds.resolve(job);
    ++jobs_of_kind[speed];
    const bool unmeasured = speeds.provenance(speed) == Provenance::Assumed;
    if (job.duration > Duration{} && (job.work <= 0 || unmeasured)) {
      job.work = to_seconds(job.duration) * speeds.requested_speed(speed, job.requested);
    }
  }
  Workload workload{.jobs = std::move(jobs)};
  for (const auto& [speed, count] : jobs_of_kind) {
    workload.notes.push_back(fmt::format("{} ({} jobs)", speeds.describe(speed), count));
  }
  return workload;
}

Alone alone(const Job& job, SpeedId speed, const SpeedBook& speeds, const Topology& topology) {
  Alone result;
  for (const Pool& pool : topology.pools()) {
    const ScalingCurve& curve = speeds.curve(speed, pool.id);
    if (curve.empty()) {
      continue;
    }
    const int requested = std::min(job.requested, pool.gpus);
    result.span = std::min(result.span, from_seconds_up(job.work / curve.peak().speed));
    result.requested =
        std::min(result.requested, from_seconds_up(job.work / curve.speed(requested)));
  }
  return result;
}

}  // namespace rubato
