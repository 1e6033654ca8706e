// When shares may be decided anew: at once if the last round is a slot ago, else when it will be.
#pragma once

#include <algorithm>

#include "rubato/base/time.h"

namespace rubato::policy::rounds {

/// Rounds are held on Tick, the last event of an instant, so that one round sees all of it.
class RoundTimer {
 public:
  /// The moment to wake at for the next round.
  [[nodiscard]] Instant next(Instant now, Duration slot) const {
    return last_ == kNever ? now : std::max(now, later(last_, slot));
  }
  void held(Instant now) { last_ = now; }

  /// kNever before the first round.
  [[nodiscard]] Instant last() const { return last_; }

 private:
  Instant last_ = kNever;
};

}  // namespace rubato::policy::rounds
