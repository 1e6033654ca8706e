// Per-job quantities of a run as plain samples: the raw material of averages, percentiles and CDFs.
#pragma once

#include <vector>

#include "rubato/metrics/history.h"

namespace rubato {

/// finish - arrival in seconds of every finished job, rising.
[[nodiscard]] std::vector<double> sorted_jcts(const History& history);

/// JCT / alone_seconds of every finished job whose alone_seconds is known, rising.
[[nodiscard]] std::vector<double> sorted_slowdowns(const History& history);

}  // namespace rubato
