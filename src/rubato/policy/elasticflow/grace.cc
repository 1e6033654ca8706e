#include "rubato/policy/elasticflow/grace.h"

#include <algorithm>

namespace rubato::policy::elasticflow {

Instant DeadlineGrace::deadline(const JobState& job) const {
  const auto found = granted_.find(job.id());
  return found == granted_.end() ? job.job.deadline : found->second;
}

Instant DeadlineGrace::latest(const JobState& job) const {
  const Instant asked = job.quote.is_kept() ? job.quote.asked : job.job.deadline;
  if (asked == kNever) {
    return asked;
  }
  const double span = to_seconds(asked - job.job.arrival);
  return later(asked, std::max(least_, from_seconds(span * part_)));
}

bool DeadlineGrace::grant(const JobState& job) {
  return is_given_to(job) && granted_.emplace(job.id(), latest(job)).second;
}

void DeadlineGrace::loosen(const JobTable& jobs) {
  for (auto& [id, deadline] : granted_) {
    deadline = latest(jobs.at(id));
  }
}

void DeadlineGrace::tighten(const JobState& job, Instant finish) {
  const auto found = granted_.find(job.id());
  if (found != granted_.end()) {
    found->second = std::max(std::min(latest(job), finish), job.job.deadline);
  }
}

}  // namespace rubato::policy::elasticflow
