// Runs policies over prepared workloads and gathers their reports; shared by `sim` and `demo`.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "rubato/report/report.h"
#include "rubato/sim/batch.h"

namespace rubato {

/// One trace under one noise. Borrows what it runs.
struct GroupRequest {
  std::string trace{};
  double noise = 0;
  const std::vector<std::vector<Job>>* workloads = nullptr;  // One per seed; one alone serves all.
  const SpeedBook* speeds = nullptr;
};

struct ComparisonRequest {
  std::vector<GroupRequest> groups{};
  std::vector<std::string> policies{};
  int seeds = 1;
  SimOptions options{};  // Of the first seed; later seeds count up from it.
  bool keep_history = false;
  bool is_quiet = false;
  bool is_isolated = false;  // Each run in a process of its own; keeps no history.
};

/// The reports point into `histories`.
struct ComparedRuns {
  std::vector<RunGroup> groups{};  // As requested, each with one run for each policy.
  std::list<History> histories{};
};

/// All runs on all cores. A policy that fails leaves the others alone: its report says why.
[[nodiscard]] ComparedRuns run_comparison(const ComparisonRequest& request,
                                          const Topology& topology);

}  // namespace rubato
