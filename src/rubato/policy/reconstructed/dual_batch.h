// Packs a batch of weighed jobs into windows of equal length: A_dual and A_maxweight of A_online.
//
// A window takes jobs by weight per worker-slot, each at its cheapest place, as long as that costs
// less than the job weighs. Repeated on what is left, alpha windows schedule at least the weight
// that the best schedule gets into one, since each takes 1/gamma of what is there.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "rubato/core/ids.h"
#include "rubato/policy/planning/use_calendar.h"

namespace rubato::policy::reconstructed {

struct BatchJob {
  JobId job{};
  double weight = 1;
  double worker_slots = 1;  // The least it needs.
  double server_slots = 0;  // Likewise; zero without servers.
};

/// Bases of the prices (theta): one more than the highest weight per slot.
struct BatchBases {
  double workers = 1;
  double servers = 1;
};

[[nodiscard]] BatchBases bases_of(std::span<const BatchJob> jobs);

/// gamma = 2 log2(lambda): what one window gets is at least this part of what it could.
[[nodiscard]] double gamma_of(const BatchBases& bases);

/// alpha: windows after which nothing is left that the best schedule would have fitted into one.
[[nodiscard]] int windows_of(std::span<const BatchJob> jobs, double gamma);

struct BatchRules {
  /// The least cost of running the job within the window; nothing if it does not fit.
  std::function<std::optional<double>(JobId job, planning::TimeWindow window)> quote{};
  /// The job takes what was quoted last.
  std::function<void(JobId job)> accept{};
};

/// Schedules what fits into the windows that follow `start`; returns who is left over.
std::vector<JobId> schedule_batch(std::vector<BatchJob> jobs, Instant start, Duration length,
                                  const BatchRules& rules);

}  // namespace rubato::policy::reconstructed
