// Progressive filling: the smallest share that still brings a job to its deadline.
//
// ElasticFlow (ASPLOS'23), section 4.1: the levels of a job's curve are tried smallest first
// against what the ledger has free; the first level whose work suffices is its minimum satisfactory
// share. Differences: time is continuous, so a plan has as many segments as the ledger has changes
// and not one per slot; pauses for resizing are part of the plan.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "rubato/base/time.h"
#include "rubato/core/job.h"
#include "rubato/core/ledger.h"
#include "rubato/core/plan.h"
#include "rubato/core/scaling_curve.h"
#include "rubato/policy/artifact/planned_stalls.h"
#include "rubato/predict/resize_cost.h"

namespace rubato::policy::elasticflow {

/// How a job whose level more than suffices spends the difference.
enum class FillShape {
  Late,   // One level lower at first, raised as late as possible: leaves the most room now (paper).
  Early,  // At its level from the start, ends early: the fewest changes.
};

/// A late plan is raised this much before it must be: room for the pauses of later changes of mind.
inline constexpr Duration kLateMargin = std::chrono::seconds{20};

/// What is to be planned. Borrowed for one call.
struct FillRequest {
  const ScalingCurve* curve = nullptr;
  double speed_factor = 1;
  double work = 0;  // Steps left at `start`.
  Instant start{};
  Instant deadline = kNever;
  Instant ready{};  // An earlier pause lasts until here.
  FillShape shape = FillShape::Early;
  Duration late_margin = kLateMargin;
  Instant soonest = Instant::min();  // A job that has yet to start waits rather than end earlier.
  Duration reserve{};                // Time to keep in hand for pauses nobody can foresee.
  int share = 0;                     // Workers just before `start`; another number costs a pause.
  const Job* job = nullptr;  // With `costs`: whose pauses these are; without, resizing is free.
  const ResizeCost* costs = nullptr;
  const artifact::PlannedStalls* stalls =
      nullptr;  // Rounds of others at which this job must stop too.
};

/// The plan at the lowest sufficient level, or nothing. With kNever as deadline the smallest level.
[[nodiscard]] std::optional<Plan> fill(const FillRequest& request, const Ledger& ledger);

/// True if a job that holds the workers of `plan` gets its work done, pauses included, with the
/// reserve left over.
[[nodiscard]] bool completes(const FillRequest& request, const Plan& plan);

/// The pause a planner must allow for when a job goes from one share to another.
[[nodiscard]] Duration planned_pause(const ResizeCost& costs, const Job& job, int from, int to);

}  // namespace rubato::policy::elasticflow
