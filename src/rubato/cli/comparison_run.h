// Runs policies over one prepared workload and gathers their reports; shared by `sim` and `demo`.
#pragma once

#include <string>
#include <vector>

#include "rubato/base/result.h"
#include "rubato/report/report.h"
#include "rubato/sim/batch.h"

namespace rubato {

struct ComparisonRequest {
  const std::vector<std::vector<Job>>* workloads = nullptr;  // One per seed; one alone serves all.
  std::vector<std::string> policies{};
  int seeds = 1;
  SimOptions options{};  // Of the first seed; later seeds count up from it.
  bool keep_history = false;
  bool is_quiet = false;
};

/// The reports point into `histories`, which has one entry for each policy.
struct Comparison {
  std::vector<RunReport> reports{};
  std::vector<History> histories{};
};

[[nodiscard]] Result<Comparison> compare(const ComparisonRequest& request, const Topology& topology,
                                         const SpeedBook& speeds);

}  // namespace rubato
