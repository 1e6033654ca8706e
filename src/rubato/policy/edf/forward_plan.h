// The plan that takes a job to its end as early as the free GPUs allow, with every pause counted.
//
// The planner of EDF with admission: unlike progressive filling, which gives a job the least that
// keeps its deadline, it always gives the most the job can use.
#pragma once

#include <optional>

#include "rubato/core/job_state.h"
#include "rubato/core/ledger.h"
#include "rubato/policy/view.h"

namespace rubato::policy::edf {

struct ForwardRequest {
  const JobState& job;
  PoolId pool{};
  Instant from{};             // Until then the job keeps the workers it has.
  Instant deadline = kNever;  // Nothing is returned if it would end later.
  Duration grid{};  // Workers change only at multiples of this after `from`; zero: always.
};

struct ForwardPlan {
  Plan plan{};       // Segments begin and end on the grid.
  Instant finish{};  // Not later than the end of the plan.
};

/// Greedy: over each stretch of equal free GPUs the count that gets furthest, pause included; keeps
/// the present count on a tie. Never promises too much: speeds are those of the worst placement,
/// and under the artifact's accounting a round, with its stop for everyone, is expected at every
/// point of the grid (which must not be zero then). The ledger should change only on the grid.
[[nodiscard]] std::optional<ForwardPlan> plan_forward(const ForwardRequest& request,
                                                      const Ledger& ledger, const View& view);

/// The first of anchor, anchor + grid, anchor + 2 grid, ... that is not before `moment`.
[[nodiscard]] Instant next_on_grid(Instant moment, Instant anchor, Duration grid);

}  // namespace rubato::policy::edf
