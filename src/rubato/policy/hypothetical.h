// What a policy would answer, asked of the policy itself instead of a copy.
#pragma once

#include <optional>

#include "rubato/core/decision.h"
#include "rubato/core/event.h"
#include "rubato/policy/view.h"

namespace rubato {

/// A policy that can tell what it would decide about an arrival and stay as it is.
class Hypothetical {
 public:
  virtual ~Hypothetical() = default;

  /// Verdict and plan of the arriving job, which is in the view, as on() would give them; plans of
  /// others are left out. The view may have other capacities than the policy knows of. Nothing:
  /// only a copy of the policy can tell. `effort` is how many plans may be made anew, and what that
  /// took is taken off it: a job that does not fit beside the plans there are is refused when too
  /// little is left.
  [[nodiscard]] virtual std::optional<Decision> would(const Arrival& arrival, const View& view,
                                                      long& effort) const = 0;
};

}  // namespace rubato
