#include "rubato/policy/planning/job_worth.h"

#include <algorithm>
#include <limits>

namespace rubato::policy::planning {
namespace {

constexpr double kSecondsPerHour = 3600;

JobNeeds needs_for(const JobState& job, double work, const View& view) {
  JobNeeds needs{.gpu_time = std::numeric_limits<double>::infinity(), .fastest = kLongest};
  for (const Pool& pool : view.topology.pools()) {
    for (const ScalingPoint& point : view.curve(job, pool.id).points()) {
      const double seconds = work / (point.speed * job.speed_factor);
      needs.gpu_time = std::min(needs.gpu_time, point.workers * seconds);
      needs.fastest = std::min(needs.fastest, from_seconds_up(seconds));
    }
  }
  needs.fastest = std::max(needs.fastest, Duration{1});
  return needs;
}

}  // namespace

JobNeeds needs_of(const JobState& job, const View& view) {
  return needs_for(job, job.work_left(view.now), view);
}

JobWorth::JobWorth(const JobState& job, const View& view)
    : given_(job.job.value),
      is_given_(job.job.value != ValueFunction{}),
      is_hard_(job.job_class == JobClass::Slo && job.job.has_deadline()),
      arrival_(job.job.arrival),
      deadline_(job.job.deadline) {
  if (is_given_) {
    return;
  }
  const JobNeeds all = needs_for(job, job.job.work, view);
  amount_ = job.job.weight * all.gpu_time / kSecondsPerHour;
  span_ = deadline_ != kNever ? deadline_ - arrival_
                              : from_seconds(to_seconds(all.fastest) * kPatience);
  span_ = std::max(span_, Duration{1});
}

double JobWorth::at(Instant finish) const {
  if (is_hard_ && finish > deadline_) {
    return 0;
  }
  const Duration latency = finish == kNever ? kLongest : finish - arrival_;
  if (is_given_) {
    return given_.at(latency);
  }
  const double part = to_seconds(latency) / to_seconds(span_);
  return part <= 1 ? amount_ * (1 - kLossByDeadline * part)
                   : amount_ * (1 - kLossByDeadline) * std::max(0.0, 2 - part);
}

}  // namespace rubato::policy::planning
