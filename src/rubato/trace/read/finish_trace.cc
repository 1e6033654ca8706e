#include "rubato/trace/read/finish_trace.h"

#include <algorithm>

namespace rubato {

void finish_trace(std::vector<Job>& jobs, FinishOptions options) {
  std::ranges::stable_sort(jobs, {}, &Job::arrival);
  const Duration shift = options.starts_at_zero && !jobs.empty()
                             ? jobs.front().arrival.time_since_epoch()
                             : Duration{0};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].id = JobId{i};
    jobs[i].arrival -= shift;
    if (jobs[i].has_deadline()) {
      jobs[i].deadline -= shift;
    }
  }
}

}  // namespace rubato
