// Makes a trace ready to run: sorted, numbered, and every job with its work in steps.
#pragma once

#include <string>
#include <vector>

#include "rubato/core/job.h"
#include "rubato/core/topology.h"
#include "rubato/predict/speed_book.h"

namespace rubato {

/// Jobs in order of arrival with ids 0, 1, ...; what was assumed on the way is told in `notes`.
struct Workload {
  std::vector<Job> jobs{};
  std::vector<std::string> notes{};  // Provenance of the speeds, one line per kind.
};

/// A job without measured speed has its work derived from its duration on the GPUs it asked for.
[[nodiscard]] Workload prepare(std::vector<Job> jobs, SpeedBook& speeds);

/// How a job would fare alone on the empty cluster.
struct Alone {
  Duration span = kLongest;       // Shortest run time; kLongest if it cannot run.
  Duration requested = kLongest;  // Run time on the GPUs it asked for.

  [[nodiscard]] bool feasible(const Job& job) const {
    return span < kLongest && later(job.arrival, span) <= job.deadline;
  }
};

[[nodiscard]] Alone alone(const Job& job, SpeedId speed, const SpeedBook& speeds,
                          const Topology& topology);

}  // namespace rubato
