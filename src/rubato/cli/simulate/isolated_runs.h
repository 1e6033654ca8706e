// Runs in processes of their own: one that crashes, hangs or eats all memory ends alone.
//
// A bug in one policy should cost a tournament one row, not all of them, and checks stop the
// process (base/check.h). So each run is a child of this process that sends back its numbers, and
// its last words if there are none.
#pragma once

#include <cstddef>
#include <functional>
#include <type_traits>

#include "rubato/base/result.h"
#include "rubato/metrics/summary.h"

namespace rubato {

/// What comes back from a run; plain bytes, so that a pipe can carry it.
struct RunNumbers {
  Summary summary{};
  double decision_p50_seconds = 0;
  double decision_p99_seconds = 0;
  double decision_max_seconds = 0;
  double wall_seconds = 0;
  std::int64_t peak_rss_bytes = 0;
};
static_assert(std::is_trivially_copyable_v<RunNumbers>);

struct IsolatedRuns {
  std::size_t count = 0;
  std::size_t at_once = 1;
  double limit_seconds = 0;  // A child that takes longer is killed; 0: no limit.

  /// Called in the child. `tell` passes progress on: `done` of `all`.
  std::function<Result<RunNumbers>(
      std::size_t index, const std::function<void(std::size_t done, std::size_t all)>& tell)>
      work{};
  /// Both are called in the parent, one at a time.
  std::function<void(std::size_t index, std::size_t done, std::size_t all)> on_progress{};
  std::function<void(std::size_t index, Result<RunNumbers> result)> on_result{};
};

/// Starts runs in their order; returns when all are over. The caller has no other threads.
void run_isolated(const IsolatedRuns& runs);

}  // namespace rubato
