// What a round costs the jobs it does not change, under the artifact's accounting; nothing
// otherwise.
#pragma once

#include <cstddef>

#include "rubato/base/time.h"
#include "rubato/predict/resize_cost.h"

namespace rubato::policy::artifact {

/// Counts rounds as the engine does, since every so many of them restarts all trainer processes.
class RoundCharges {
 public:
  void held(Instant now);
  [[nodiscard]] long rounds() const { return rounds_; }
  [[nodiscard]] Instant first() const { return first_; }
  void restore(long rounds, Instant first);

  /// The most an ordinary round can cost.
  [[nodiscard]] Duration ordinary(const ResizeCost& costs) const { return charge(costs, 0); }
  /// The most the coming round can cost.
  [[nodiscard]] Duration coming(const ResizeCost& costs) const { return charge(costs, rounds_); }
  /// What restarts add while this many rounds are held after the coming one. Which of them a
  /// restart hits is not known: a planned round may turn out needless, and then a later one has its
  /// number.
  [[nodiscard]] Duration restarts(const ResizeCost& costs, std::size_t rounds_after) const;

  /// Rounds to expect in a window, going by those so far.
  [[nodiscard]] double expected(Instant now, Duration window, Duration slot) const;

 private:
  [[nodiscard]] static Duration charge(const ResizeCost& costs, long round);

  long rounds_ = 0;
  Instant first_{};
};

}  // namespace rubato::policy::artifact
