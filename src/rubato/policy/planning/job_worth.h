// What finishing a job is worth to a policy that trades in values, and what the job needs for it.
//
// A job that carries a value function is worth what that says. A plain job (its value function is
// the constant 1 of every trace) gets a worth of its own: its weight times the GPU-hours it needs,
// falling by a tenth until its deadline and then to nothing in the same time again.
// Without a deadline, a multiple of its fastest run time takes its place. So GPU time is worth the
// same in all plain jobs, and finishing early always pays. An `slo` job that is late is worth
// nothing, whatever its value function says: its deadline is hard.
#pragma once

#include "rubato/base/time.h"
#include "rubato/core/job_state.h"
#include "rubato/policy/view.h"

namespace rubato::policy::planning {

/// What the rest of a job needs at least, whatever else runs.
struct JobNeeds {
  double gpu_time = 0;  // GPU-seconds, at its most efficient.
  Duration fastest{};   // Run time at its fastest; kLongest if it can run nowhere.
};

[[nodiscard]] JobNeeds needs_of(const JobState& job, const View& view);

/// Never rises with time.
class JobWorth {
 public:
  /// Fastest run times that take the place of the deadline of a plain job without one.
  static constexpr double kPatience = 10;
  /// Small, so that GPUs are not wasted on haste; not nothing, so that they are not left idle.
  static constexpr double kLossByDeadline = 0.1;

  JobWorth(const JobState& job, const View& view);

  [[nodiscard]] double at(Instant finish) const;
  /// The owner gave a value or a hard deadline: such a job is refused rather than left to wait.
  [[nodiscard]] bool may_be_refused() const { return is_given_ || is_hard_; }

 private:
  ValueFunction given_{};
  bool is_given_ = false;
  bool is_hard_ = false;
  Instant arrival_{};
  Instant deadline_ = kNever;
  double amount_ = 0;  // Of a plain job at its arrival.
  Duration span_{};    // From arrival to deadline.
};

}  // namespace rubato::policy::planning
