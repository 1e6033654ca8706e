#include "rubato/metrics/timeline.h"

#include <algorithm>

#include "rubato/base/check.h"
#include "rubato/metrics/summary.h"
#include "rubato/metrics/use_integral.h"

namespace rubato {

Instant Bins::edge(std::size_t index) const {
  RUBATO_CHECK(index <= count && count > 0);
  // Whole bins first: the product of the span and an index could overflow.
  const auto bins = static_cast<std::int64_t>(count);
  const auto here = static_cast<std::int64_t>(index);
  const Duration span = to - from;
  return from + span / bins * here + Duration{span.count() % bins * here / bins};
}

std::vector<double> utilization_over_time(const History& history, const Bins& bins) {
  const UseIntegral use(history.use);
  std::vector<double> line;
  for (std::size_t i = 0; i < bins.count && bins.edge(i) < history.end; ++i) {
    const UseSum sum = use.over(bins.edge(i), std::min(bins.edge(i + 1), history.end));
    line.push_back(sum.gpu_seconds_up > 0 ? sum.gpu_seconds_used / sum.gpu_seconds_up : 0);
  }
  return line;
}

std::vector<DeadlineCount> deadlines_over_time(const History& history, const Bins& bins) {
  std::vector<const JobRecord*> jobs;
  for (const JobRecord& job : history.jobs) {
    if (is_deadline_job(job)) {
      jobs.push_back(&job);
    }
  }
  std::ranges::stable_sort(jobs, {}, [](const JobRecord* job) { return job->deadline; });

  std::vector<DeadlineCount> line;
  DeadlineCount sum;
  auto next = jobs.begin();
  for (std::size_t i = 1; i <= bins.count; ++i) {
    while (next != jobs.end() && (i == bins.count || (*next)->deadline <= bins.edge(i))) {
      ++sum.due;
      sum.met += (*next)->met_deadline() ? 1 : 0;
      ++next;
    }
    line.push_back(sum);
  }
  return line;
}

}  // namespace rubato
