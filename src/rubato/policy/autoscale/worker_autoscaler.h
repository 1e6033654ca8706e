// How many workers one job should try next, from what it has seen of itself.
//
// Or, Zhang and Freedman, MLSys'20: walk up the worker counts as long as each step pays, else down,
// and settle below the first step that does not. A step from i to j workers pays if
//   efficiency:  (R_j - R_i) / (j - i) / (R_i / i)  >  S        with R_k the speed at k workers, or
//   utility:     U(T_j) - U(T_i)  >  C_j - C_i                  with T_k the latency if it goes on
// at k workers and C_k = k times the time left at k times the price. Only counts that were visited
// are known.
#pragma once

#include <functional>
#include <span>

#include "rubato/core/value.h"

namespace rubato::policy::autoscale {

/// What a job has seen at one worker count.
struct Visit {
  int workers = 0;
  double speed = 0;  // Steps per second.
  double steps = 0;  // Done there.
};

/// True if going from the first to the second, larger count pays.
using StepPays = std::function<bool(const Visit& from, const Visit& to)>;

/// `least`: part of the average speed per worker that a further worker must add.
[[nodiscard]] StepPays pays_by_efficiency(double least);

/// A job as its owner pays for it.
struct Bill {
  ValueFunction value{};
  double elapsed = 0;  // Seconds since arrival.
  double steps_left = 0;
  double price = 0;  // Of one worker for one second.
};
[[nodiscard]] StepPays pays_by_utility(Bill bill);

/// How it looks around.
struct AutoscaleSearch {
  int passes = 3;          // So many steps in a row that pay end the search downwards.
  double steps_min = 100;  // A count is known once so many steps were done there.
};

/// The count to try next. `visits` rise in workers, are not empty and lie on the `ladder` of all
/// counts allowed, which rises too.
[[nodiscard]] int next_count(std::span<const Visit> visits, std::span<const int> ladder,
                             const StepPays& pays, const AutoscaleSearch& search = {});

}  // namespace rubato::policy::autoscale
