// max_runtime: a job ends when it has held slots as long as its owner allows. Time in which it had
// to wait for others does not count.
#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "rubato/live/controller/controller.h"

namespace rubato {
namespace {

constexpr int kOverdueCode = 124;  // As timeout(1) has it.

}  // namespace

void Controller::note_limit(const LiveJob& job) {
  if (job.runtime_max > Duration{} && !is_over(job.state)) {
    limited_.insert(job.id);
  }
}

Instant Controller::runtime_end(const LiveJob& job) const {
  const bool is_counting = !slots_.owned(job.id).empty();
  return is_counting ? later(job.used_until, job.runtime_max - job.ran) : kNever;
}

Instant Controller::next_limit() const {
  Instant next = kNever;
  for (const JobId id : limited_) {
    next = std::min(next, runtime_end(jobs_.at(id)));
  }
  return next;
}

void Controller::end_overdue() {
  const std::vector<JobId> limited(limited_.begin(), limited_.end());
  for (const JobId id : limited) {
    LiveJob& job = jobs_.at(id);
    if (runtime_end(job) > now_) {
      continue;
    }
    const std::string& limit = job.spec.max_runtime();
    const std::string text = fmt::format("job {} reached its max_runtime of {}", id.value, limit);
    cause_ = {.text = text, .by = fmt::format("{}", id.value)};
    job.end.exit_code = kOverdueCode;
    job.end.cause = fmt::format("max_runtime of {} reached", limit);
    send_stop(job, job.end.cause);
    leave_engine(job, Outcome::Failed);
    finish(job, LiveState::Failed, "job.failed", text);
  }
}

}  // namespace rubato
