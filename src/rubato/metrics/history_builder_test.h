// Small histories for tests: every number mentioned fits in a reader's head.
#pragma once

#include <cstdint>

#include "rubato/metrics/history.h"

namespace rubato {

/// A job of class slo that arrives at `arrival` and takes `requested_seconds` on one GPU.
inline JobRecord job_record(std::uint64_t id, double arrival) {
  return {.id = JobId{id},
          .arrival = at_seconds(arrival),
          .admitted = true,
          .alone_seconds = 10,
          .requested_seconds = 10};
}

inline JobRecord finished_job(std::uint64_t id, double arrival, double finish) {
  JobRecord job = job_record(id, arrival);
  job.first_start = at_seconds(arrival);
  job.finish = at_seconds(finish);
  return job;
}

}  // namespace rubato
