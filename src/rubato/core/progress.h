// Dead reckoning of one job: how much is done by a moment, and when all of it will be.
//
// Engine and simulator keep one each and change them at the same moments in the same way, so that
// without faults what the engine believes is bit for bit what the simulator does.
#pragma once

#include "rubato/base/time.h"

namespace rubato {

/// Steps done at `since`, and the speed from then on once the pause is over.
struct Progress {
  double done = 0;
  double speed = 0;  // Steps per second; zero while the job has no workers.
  Instant since{};
  Instant paused_until{};

  /// Steps done by `moment` (not before `since`).
  [[nodiscard]] double at(Instant moment) const;
  /// When `work` steps will be done, rounded up to the microsecond; kNever at speed zero.
  [[nodiscard]] Instant finish(double work) const;

  /// Brings `done` to `moment`.
  void advance(Instant moment);
  /// From `moment` on: this speed, after a pause that adds to whatever is left of the last one.
  void change(Instant moment, double new_speed, Duration pause);
};

}  // namespace rubato
