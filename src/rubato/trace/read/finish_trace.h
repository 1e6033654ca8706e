// Puts a whole trace in order once all of its jobs are loaded.
#pragma once

#include <vector>

#include "rubato/core/job.h"

namespace rubato {

struct FinishOptions {
  bool starts_at_zero = false;  // Moves all times so that the first job arrives at zero.
};

/// Sorts by arrival, equal ones in file order, and numbers the jobs 0, 1, ... in that order.
void finish_trace(std::vector<Job>& jobs, FinishOptions options = {});

}  // namespace rubato
