// The order of EDF: who is due first goes first.
#pragma once

#include <tuple>

#include "rubato/core/job_state.h"

namespace rubato::policy::edf {

/// (deadline, arrival, id).
using Urgency = std::tuple<Instant, Instant, JobId>;

/// Best-effort jobs come after all others, whatever deadline they name.
[[nodiscard]] inline Urgency urgency_of(const JobState& job) {
  const bool is_last = job.job_class == JobClass::BestEffort;
  return {is_last ? kNever : job.job.deadline, job.job.arrival, job.id()};
}

}  // namespace rubato::policy::edf
