// Forward plans that keep promises: of all promised jobs together, in order of deadline.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "rubato/core/ledger.h"
#include "rubato/core/plan.h"
#include "rubato/policy/edf/forward_plan.h"
#include "rubato/policy/view.h"

namespace rubato::policy::edf {

/// What keeps a promise.
struct Promise {
  Plan plan{};
  double speed_factor = 1;  // The plan counts on this.
  bool is_late = false;     // A fault has broken it.
};

using Promises = std::map<JobId, Promise>;

/// Time between two rounds at least: the slot, and under the artifact's accounting, which stops
/// everyone at each round, no less than a minute.
[[nodiscard]] Duration round_grid(const View& view);

/// What plans aim at: the deadline, and under the artifact's accounting a little before it, for the
/// stops that rounds of other jobs cause.
[[nodiscard]] Instant planned_deadline(const JobState& job, const View& view);

/// New plans for all promised jobs and the candidate (null: none) from a moment on, if they keep
/// all promises. Jobs that are late already come last and need not be in time.
[[nodiscard]] std::optional<Promises> plan_all(const Promises& promises, Instant from,
                                               const JobState* candidate, const View& view);

/// After a fault: plans for all, those that can still be in time first.
[[nodiscard]] Promises rescue(const Promises& promises, Instant from, const View& view);

/// GPUs that the plans leave free from a moment on, per pool; nothing if they need more than is up.
[[nodiscard]] std::optional<std::vector<Ledger>> free_beside(const Promises& promises, Instant from,
                                                             const View& view);

/// The plan with the earliest finish over the pools open to the job, if that is in time; a running
/// job stays in its pool.
[[nodiscard]] std::optional<ForwardPlan> earliest_plan(const JobState& job,
                                                       const std::vector<Ledger>& ledgers,
                                                       Instant from, Instant deadline,
                                                       const View& view);

/// True if the job could keep its deadline on the empty cluster.
[[nodiscard]] bool fits_alone(const JobState& job, Instant from, const View& view);

}  // namespace rubato::policy::edf
