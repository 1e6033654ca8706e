#include "rubato/metrics/samples.h"

#include <algorithm>

namespace rubato {

std::vector<double> sorted_jcts(const History& history) {
  std::vector<double> samples;
  samples.reserve(history.jobs.size());
  for (const JobRecord& job : history.jobs) {
    if (job.finished()) {
      samples.push_back(to_seconds(job.finish - job.arrival));
    }
  }
  std::ranges::sort(samples);
  return samples;
}

std::vector<double> sorted_slowdowns(const History& history) {
  std::vector<double> samples;
  samples.reserve(history.jobs.size());
  for (const JobRecord& job : history.jobs) {
    if (job.finished() && job.alone_seconds > 0) {
      samples.push_back(to_seconds(job.finish - job.arrival) / job.alone_seconds);
    }
  }
  std::ranges::sort(samples);
  return samples;
}

}  // namespace rubato
