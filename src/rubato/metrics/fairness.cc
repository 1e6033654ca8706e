#include "rubato/metrics/fairness.h"

#include <algorithm>

namespace rubato {

double finish_time_fairness(const JobRecord& job, const UseIntegral& use) {
  if (!job.finished() || job.finish <= job.arrival || job.requested_seconds <= 0) {
    return 0;
  }
  const double shared = to_seconds(job.finish - job.arrival);
  const UseSum life = use.over(job.arrival, job.finish);
  if (life.gpu_seconds_up <= 0) {
    return 0;
  }
  const double jobs = std::max(1.0, life.active_seconds / shared);
  const double gpus = life.gpu_seconds_up / shared;
  return shared / (job.requested_seconds * std::max(1.0, job.requested * jobs / gpus));
}

}  // namespace rubato
